// The operator's rules on every way in and out of a connection.
#include "relay/rules/rules_in_force.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

class OperatorRulesTest : public ClientTest {
 protected:
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

// The judging asks the wall clock; here that takes half a second, as the search for a slow expression may.
TEST_F(OperatorRulesTest, ASearchIsChargedByItsTime) {
  RuleSet set;
  set.deny_write.words = std::make_shared<WordSet>(std::vector<std::string>{"spam"});
  Use(std::move(set));
  Seat& seat = Connect();
  wall_clock_.WhenAsked([this] { clock_.Advance(std::chrono::milliseconds(500)); });
  const std::string event = alice_.SignedEvent(kNow, 1, "[]", "spam");
  EXPECT_TRUE(Has(Ask(seat, Publish(event)), "relay.write.deny.words[0]"));
  wall_clock_.WhenAsked({});
  EXPECT_TRUE(Eventually([&] {
    const auto parties = pool_->HeaviestTakers().parties;
    return !parties.empty() && parties[0].work >= 500e6;
  }));
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

}  // namespace
}  // namespace weir
