// The operator's rules on every way in and out of a connection.
#include <latch>
#include <utility>

#include "relay/rules/rules_in_force.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/failing_memory.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

// Moves on by `step` whenever it is read.
class EagerClock final : public Clock {
 public:
  explicit EagerClock(Duration step) : step_(step) {}
  TimePoint Now() const override { return TimePoint{std::chrono::hours(1)} + step_ * ++reads_; }

 private:
  const Duration step_;
  mutable std::atomic<int64_t> reads_{0};
};

// Makes the next allocation of the thread that reads it fail, once, if the same thread has told it to. The commit
// thread reads clocks meanwhile, and must not take or set the failure of a worker.
class FailingClock final : public Clock {
 public:
  TimePoint Now() const override {
    if (std::exchange(fails, false)) FailAllocation(1);
    return TimePoint{std::chrono::hours(1)};
  }
  static thread_local bool fails;
};
thread_local bool FailingClock::fails = false;

class OperatorRulesTest : public ClientTest {
 protected:
  void UseWord(const std::string& expression) {
    RuleSet set;
    set.deny_write.words = std::make_shared<WordSet>(std::vector{expression});
    Use(std::move(set));
  }
  void Use(RuleSet set) {
    if (!context_) Build();
    context_->rules->Use(std::make_shared<Rules>(std::move(set)));
  }
  // Returns all messages until one that begins with `end`.
  std::vector<std::string> AllThatIsSaid(Seat& seat, const std::string& message, const std::string& end) {
    seat.Say(message);
    RunUntil([&] { return seat->Count("[\"" + end) > 0; });
    std::vector<std::string> said(seat->said.begin(), seat->said.end());
    seat->said.clear();
    return said;
  }
  void Authenticate(Seat& seat, const Signer& person) {
    const std::string auth = Hear(seat)[0];
    const std::string challenge = auth.substr(9, auth.size() - 11);
    const std::string event =
        person.SignedEvent(kNow, 22242, R"([["relay","wss://relay.example"],["challenge",")" + challenge + "\"]]", "");
    EXPECT_EQ(Ask(seat, "[\"AUTH\"," + event + "]"), OkFor(event));
  }

  const Signer alice_{1};
  const Signer bob_{2};
};

TEST_F(OperatorRulesTest, ARefusedEventGetsAnOkThatNamesTheRule) {
  RuleSet set;
  set.deny_write.authors = KeySet({alice_.pubkey()});
  Use(std::move(set));
  Seat& seat = Connect();
  const std::string of_alice = alice_.SignedEvent(kNow, 1, "[]", "a");
  const std::string of_bob = bob_.SignedEvent(kNow, 1, "[]", "b");
  EXPECT_EQ(Ask(seat, Publish(of_alice)),
            NotOk(of_alice, "blocked: events of this author are not taken (relay.write.deny.authors)"));
  EXPECT_EQ(Ask(seat, Publish(of_bob)), OkFor(of_bob));
}

TEST_F(OperatorRulesTest, ABanHidesStoredEventsAndRefusesNewOnes) {
  Seat& seat = Connect();
  const std::string of_alice = alice_.SignedEvent(kNow, 1, "[]", "a");
  const std::string of_bob = bob_.SignedEvent(kNow, 1, "[]", "b");
  for (const std::string& event : {of_alice, of_bob}) EXPECT_EQ(Ask(seat, Publish(event)), OkFor(event));
  EXPECT_EQ(AllThatIsSaid(seat, R"(["REQ","before",{}])", "EOSE").size(), 3U);
  context_->rules->decided().banned_authors.Add(alice_.pubkey());
  const std::vector<std::string> said = AllThatIsSaid(seat, R"(["REQ","now",{}])", "EOSE");
  ASSERT_EQ(said.size(), 2U);
  EXPECT_TRUE(Has(said[0], of_bob));
  const std::string more = alice_.SignedEvent(kNow + 1, 1, "[]", "more");
  EXPECT_EQ(Ask(seat, Publish(more)), NotOk(more, "blocked: this author was banned by this relay's administrators"));
  context_->rules->decided().banned_authors.Remove(alice_.pubkey());
  EXPECT_EQ(AllThatIsSaid(seat, R"(["REQ","again",{}])", "EOSE").size(), 3U);
}

TEST_F(OperatorRulesTest, AnImportLeavesOutWhatIsBanned) {
  Build();
  EventParser parser;
  const std::vector<Event> events = {parser.Parse(alice_.SignedEvent(kNow, 1, "[]", "a")).value(),
                                     parser.Parse(bob_.SignedEvent(kNow, 1, "[]", "b")).value(),
                                     parser.Parse(bob_.SignedEvent(kNow, 1, "[]", "c")).value()};
  context_->rules->decided().banned_authors.Add(alice_.pubkey());
  context_->rules->decided().banned_events.Add(events[1].view().id());
  std::vector<SaveResult> results(3);
  EXPECT_TRUE(pipeline_->SaveBulk(events, results).ok());
  for (const SaveResult& result : results) EXPECT_TRUE(result.settled);
  EXPECT_EQ(results[0].outcome, SaveOutcome::kRefused);
  EXPECT_EQ(results[1].outcome, SaveOutcome::kRefused);
  EXPECT_EQ(results[2].outcome, SaveOutcome::kSaved);
  EXPECT_TRUE(pipeline_->SaveBulk(std::span(events).first(2), results).ok());
  EXPECT_EQ(results[1].outcome, SaveOutcome::kRefused);
  context_->rules->decided().banned_authors.Remove(alice_.pubkey());
  EXPECT_TRUE(pipeline_->SaveBulk(events, results).ok());
  EXPECT_EQ(results[0].outcome, SaveOutcome::kSaved) << "nothing of it was stored before";
  EXPECT_EQ(results[2].outcome, SaveOutcome::kDuplicate);
}

TEST_F(OperatorRulesTest, RulesThatChangeHoldFromTheNextEventOn) {
  Seat& seat = Connect();
  const std::string before = alice_.SignedEvent(kNow, 1, "[]", "before");
  EXPECT_EQ(Ask(seat, Publish(before)), OkFor(before));
  RuleSet set;
  set.deny_write.addresses = AddressSet({ParseNetwork("192.0.2.0/24").value()});
  Use(std::move(set));
  const std::string after = alice_.SignedEvent(kNow, 1, "[]", "after");
  EXPECT_TRUE(Has(Ask(seat, Publish(after)), "blocked: events from your address")) << "the address of the connection";
  Seat& elsewhere = Connect("198.51.100.1");
  EXPECT_EQ(Ask(elsewhere, Publish(after)), OkFor(after));
}

TEST_F(OperatorRulesTest, ASearchIsChargedByItsTime) {
  static const EagerClock clock(std::chrono::milliseconds(500));
  context_clock_ = &clock;
  UseWord("spam");
  Seat& seat = Connect();
  const std::string event = alice_.SignedEvent(kNow, 1, "[]", "spam");
  EXPECT_TRUE(Has(Ask(seat, Publish(event)), "relay.write.deny.words[0]"));
  EXPECT_TRUE(Eventually([&] {
    const auto parties = pool_->HeaviestTakers().parties;
    return !parties.empty() && parties[0].work >= 500e6;
  }));
}

// One of the two workers is kept busy. The other waits in the judging of the long event until a short one is queued.
TEST_F(OperatorRulesTest, ALongSearchLetsOthersGoFirst) {
  static const EagerClock clock(std::chrono::milliseconds(1));
  context_clock_ = &clock;
  UseWord("(?i)win.{0,20}bitcoin");
  std::latch busy{1}, judges{1}, queued{1}, answered{1};
  pool_->Submit(Urgency::kFair, Party{}, [&] {
    busy.count_down();
    answered.wait();
  });
  busy.wait();
  std::vector<uint64_t> under_way;
  wall_clock_.WhenAsked([&] {
    if (under_way.empty()) {
      judges.count_down();
      queued.wait();
    }
    under_way.push_back(budget_->out());
  });
  Seat& slow = Connect("192.0.2.1");
  Seat& quick = Connect("192.0.2.2");
  const std::string text = alice_.SignedEvent(kNow, 1, "[]", std::string(100'000, 'x') + "win bitcoin");
  slow.Say(Publish(text));
  judges.wait();
  const std::string note = alice_.SignedEvent(kNow, 1, "[]", "short");
  quick.Say(Publish(note));
  queued.count_down();
  EXPECT_EQ(Hear(quick)[0], OkFor(note));
  EXPECT_TRUE(Has(Hear(slow)[0], "relay.write.deny.words[0]")) << "the word at the end of the content";
  wall_clock_.WhenAsked({});
  answered.count_down();
  RunUntilIdle();  // no worker uses the latches any more
  ASSERT_GE(under_way.size(), 2U) << "the clock is read when an event is judged, and when it is saved";
  EXPECT_GT(under_way[1], text.size()) << "the long event was judged to its end before the short one was read";
}

// The first event makes RE2 allocate what it needs. The search of the second reads the clock after the judging.
TEST_F(OperatorRulesTest, WhereMemoryFailsInASearchTheEventIsAnswered) {
  static const FailingClock clock;
  context_clock_ = &clock;
  UseWord("spam");
  Seat& seat = Connect();
  EXPECT_TRUE(Has(Ask(seat, Publish(alice_.SignedEvent(kNow, 1, "[]", "spam"))), "relay.write.deny.words[0]"));
  RunUntilIdle();  // a worker may ask what time it is after its answer
  wall_clock_.WhenAsked([] { FailingClock::fails = true; });
  EXPECT_TRUE(Has(Ask(seat, Publish(alice_.SignedEvent(kNow, 1, "[]", "more spam"))), "error: a fault of this relay"));
  wall_clock_.WhenAsked({});
}

TEST_F(OperatorRulesTest, AForgedEventUsesUpNobodysRate) {
  RuleSet set;
  set.rates.push_back({.by = RateBy::kAuthor, .rate = {.events = 1, .per = std::chrono::minutes(1)}});
  Use(std::move(set));
  Seat& seat = Connect();
  std::string forged = alice_.SignedEvent(kNow, 1, "[]", "forged");
  const size_t signature = forged.find("\"sig\":\"") + 7;
  forged[signature] = forged[signature] == '0' ? '1' : '0';
  for (int n = 0; n < 3; ++n) EXPECT_TRUE(Has(Ask(seat, Publish(forged)), "invalid: the signature"));
  const std::string first = alice_.SignedEvent(kNow, 1, "[]", "first");
  EXPECT_EQ(Ask(seat, Publish(first)), OkFor(first));
  const std::string second = alice_.SignedEvent(kNow, 1, "[]", "second");
  const std::string answer = Ask(seat, Publish(second));
  EXPECT_TRUE(Has(answer, "rate-limited: at most 1 event of one author a minute")) << answer;
  EXPECT_TRUE(Has(answer, "try again in 60 s")) << answer;
  EXPECT_EQ(Ask(seat, Publish(first)), OkFor(first, "duplicate: already have this event")) << "counts no second time";
  clock_.Advance(std::chrono::seconds(60));
  EXPECT_EQ(Ask(seat, Publish(second)), OkFor(second));
}

TEST_F(OperatorRulesTest, AnAuthThatHelpsIsAskedFor) {
  settings_.url = "wss://relay.example";
  RuleSet set;
  set.allow_write.authors = KeySet({alice_.pubkey()});
  set.allow_read.readers = KeySet({alice_.pubkey()});
  Use(std::move(set));
  Seat& seat = Connect();
  const std::string wrap = Signer(9).SignedEvent(kNow, 1059, R"([["p",")" + ToHex(bob_.pubkey()) + "\"]]", "");
  seat.Say(Publish(wrap));
  RunUntil([&] { return seat->said.size() == 2; });
  EXPECT_TRUE(Has(seat->said[1], "auth-required: only clients that have proved a listed key"));
  seat->said.pop_back();
  EXPECT_TRUE(Has(AllThatIsSaid(seat, R"(["REQ","r",{"kinds":[1]}])", "CLOSED").back(), "auth-required: "))
      << "asks once";
  Seat& other = Connect();
  other.Say(R"(["REQ","r",{"kinds":[1]}])");
  RunUntil([&] { return other->said.size() == 2; });
  EXPECT_TRUE(other->said[0].starts_with("[\"AUTH\","));
  EXPECT_TRUE(
      Has(other->said[1], R"(["CLOSED","r","auth-required: only clients that have proved a listed key may read)"));
  other->said.pop_back();
  Authenticate(other, alice_);
  EXPECT_EQ(Ask(other, Publish(wrap)), OkFor(wrap));
  EXPECT_EQ(AllThatIsSaid(other, R"(["REQ","r",{"kinds":[1]}])", "EOSE").size(), 1U);
}

TEST_F(OperatorRulesTest, HiddenEventsAreLeftOutOfEveryAnswer) {
  settings_.eose_completeness = true;
  const std::string shown = alice_.SignedEvent(kNow - 1, 1, "[]", "shown");
  const std::string hidden = bob_.SignedEvent(kNow - 1, 1, "[]", "hidden");
  Store({shown, hidden});
  RuleSet set;
  set.deny_read.authors = KeySet({bob_.pubkey()});
  Use(std::move(set));
  Seat& seat = Connect();
  const auto stored = AllThatIsSaid(seat, R"(["REQ","s",{"kinds":[1]}])", "EOSE");
  ASSERT_EQ(stored.size(), 2U);
  EXPECT_TRUE(Has(stored[0], IdOf(shown)));
  EXPECT_EQ(stored[1], R"(["EOSE","s"])") << "EOSE does not say that all was sent";
  EXPECT_EQ(Ask(seat, R"(["COUNT","c",{"kinds":[1]}])"), R"(["COUNT","c",{"count":1}])");
  EXPECT_TRUE(Has(Ask(seat, R"(["REQ","b",{"authors":[")" + ToHex(bob_.pubkey()) + "\"]}]"),
                  R"(["CLOSED","b","blocked: events of these authors are not shown)"));
  const std::string live_hidden = bob_.SignedEvent(kNow, 1, "[]", "live and hidden");
  const std::string live_shown = alice_.SignedEvent(kNow, 1, "[]", "live and shown");
  Seat& writer = Connect();
  EXPECT_EQ(Ask(writer, Publish(live_hidden)), OkFor(live_hidden)) << "rules for reading do not refuse events";
  EXPECT_EQ(Ask(writer, Publish(live_shown)), OkFor(live_shown));
  EXPECT_TRUE(Has(Hear(seat)[0], IdOf(live_shown)));
}

TEST_F(OperatorRulesTest, ASubscriptionFollowsRulesThatChange) {
  Seat& seat = Connect();
  AllThatIsSaid(seat, R"(["REQ","s",{"kinds":[1]}])", "EOSE");
  RuleSet set;
  set.deny_read.authors = KeySet({bob_.pubkey()});
  Use(std::move(set));
  Seat& writer = Connect();
  const std::string hidden = bob_.SignedEvent(kNow, 1, "[]", "hidden now");
  const std::string shown = alice_.SignedEvent(kNow, 1, "[]", "shown");
  EXPECT_EQ(Ask(writer, Publish(hidden)), OkFor(hidden));
  EXPECT_EQ(Ask(writer, Publish(shown)), OkFor(shown));
  EXPECT_TRUE(Has(Hear(seat)[0], IdOf(shown)));
}

// The second connection of the address has no subscription that wants the event.
TEST_F(OperatorRulesTest, AReaderWhoseAddressIsDeniedGetsNoMoreEvents) {
  Seat& seat = Connect();
  Seat& quiet = Connect();
  Seat& elsewhere = Connect("198.51.100.1");
  AllThatIsSaid(seat, R"(["REQ","a",{"kinds":[1]}])", "EOSE");
  AllThatIsSaid(seat, R"(["REQ","b",{}])", "EOSE");
  AllThatIsSaid(quiet, R"(["REQ","q",{"kinds":[7]}])", "EOSE");
  AllThatIsSaid(elsewhere, R"(["REQ","e",{}])", "EOSE");
  RuleSet set;
  set.deny_read.addresses = AddressSet({ParseNetwork("192.0.2.0/24").value()});
  Use(std::move(set));
  const std::string note = alice_.SignedEvent(kNow, 1, "[]", "note");
  EXPECT_EQ(Ask(quiet, Publish(note)), OkFor(note));
  EXPECT_TRUE(Has(Hear(elsewhere)[0], IdOf(note)));
  std::vector<std::string> closed = Hear(seat, 2);
  std::sort(closed.begin(), closed.end());
  const std::string why = R"x(","blocked: clients at your address may not read (relay.read.deny.addresses)"])x";
  EXPECT_EQ(closed, (std::vector{R"(["CLOSED","a)" + why, R"(["CLOSED","b)" + why}));
  RunUntilIdle();
  EXPECT_TRUE(quiet->said.empty());
  EXPECT_EQ(delivery_->subscriptions(), 2U);
  for (Seat* each : {&quiet, &elsewhere}) each->client->OnTick();
  RunUntilIdle();
  EXPECT_EQ(quiet->last(), R"(["CLOSED","q)" + why);
  EXPECT_TRUE(elsewhere->said.empty());
  EXPECT_EQ(delivery_->subscriptions(), 1U);
}

// One of the requests waits for its client, who does not read.
TEST_F(OperatorRulesTest, QuietSubscriptionsOfADeniedReaderAreClosed) {
  constexpr size_t kRequests = 11;
  Store(Notes(1000, std::string(1000, 'x')));
  Seat& seat = Connect();
  for (size_t n = 1; n < kRequests; ++n)
    AllThatIsSaid(seat, R"(["REQ",")" + std::to_string(n) + R"(",{"kinds":[7]}])", "EOSE");
  SayWithoutReading(seat, R"(["REQ","long",{"kinds":[1],"limit":5000}])");
  seat.client->OnTick();
  RunUntilIdle();
  EXPECT_EQ(seat->Count("[\"CLOSED"), 0U);
  DecidedLists::Short lists;
  lists.blocked_addresses = AddressSet({ParseNetwork("192.0.2.0/24").value()});
  context_->rules->decided().Use(lists);
  seat.client->OnTick();
  EXPECT_LT(seat->Count("[\"CLOSED"), kRequests) << "all at once";
  RunUntilIdle();
  EXPECT_EQ(seat->Count("[\"CLOSED"), kRequests);
  EXPECT_TRUE(Has(seat->last(), "blocked: this relay's administrators have blocked your address")) << seat->last();
  EXPECT_EQ(delivery_->subscriptions(), 0U);
}

TEST_F(OperatorRulesTest, QuietSubscriptionsOfReadersThatNowNeedAKeyAreClosedWithAChallenge) {
  settings_.url = "wss://relay.example";
  Seat& seat = Connect();
  AllThatIsSaid(seat, R"(["REQ","s",{"kinds":[1]}])", "EOSE");
  RuleSet set;
  set.allow_read.readers = KeySet({alice_.pubkey()});
  Use(std::move(set));
  seat.client->OnTick();
  const std::vector<std::string> said = Hear(seat, 2);
  EXPECT_TRUE(said[0].starts_with("[\"AUTH\",")) << said[0];
  EXPECT_TRUE(said[1].starts_with(R"(["CLOSED","s","auth-required: )")) << said[1];
}

TEST_F(OperatorRulesTest, AReaderThatProvesADeniedKeyGetsNoMoreEvents) {
  settings_.url = "wss://relay.example";
  RuleSet set;
  set.deny_read.readers = KeySet({bob_.pubkey()});
  Use(std::move(set));
  Seat& seat = Connect();
  seat.Say(R"(["REQ","a",{"kinds":[1,4]}])");
  RunUntil([&] { return seat->said.size() == 2; });
  EXPECT_EQ(seat->last(), R"(["EOSE","a"])") << "after the challenge";
  seat->said.pop_back();
  Authenticate(seat, bob_);
  const std::string note = alice_.SignedEvent(kNow, 1, "[]", "note");
  EXPECT_EQ(Ask(Connect(), Publish(note)), OkFor(note));
  EXPECT_EQ(Hear(seat)[0],
            R"x(["CLOSED","a","blocked: the owner of your key may not read (relay.read.deny.readers)"])x");
}

// The scan pauses because its client does not read.
TEST_F(OperatorRulesTest, EoseIsUnsureIfTheRulesChangeInMidScan) {
  settings_.eose_completeness = true;
  Store(Notes(1000, std::string(1000, 'x')));
  for (const bool changes : {false, true}) {
    Seat& seat = Connect();
    SayWithoutReading(seat, R"(["REQ","s",{"kinds":[1],"limit":5000}])");
    if (changes) {
      RuleSet set;
      set.deny_read.authors = KeySet({bob_.pubkey()});
      Use(std::move(set));
      Use({});
    }
    TakeUntil(seat);
    EXPECT_EQ(seat->last(), changes ? R"(["EOSE","s"])" : R"(["EOSE","s",["finish"]])");
  }
}

// A scan pauses because its client does not read.
TEST_F(OperatorRulesTest, AScanEndsOnceItsClientMayNotRead) {
  Store(Notes(1000, std::string(1000, 'x')));
  Seat& seat = Connect();
  SayWithoutReading(seat);
  RuleSet set;
  set.allow_read.readers = KeySet({alice_.pubkey()});
  Use(std::move(set));
  TakeUntil(seat, "[\"CLOSED\"");
  EXPECT_EQ(seat->Count("[\"EOSE\""), 0U);
  EXPECT_LT(seat->Count("[\"EVENT\""), 500U);
  EXPECT_EQ(seat->Count("[\"AUTH\""), 1U);
}

}  // namespace
}  // namespace weir
