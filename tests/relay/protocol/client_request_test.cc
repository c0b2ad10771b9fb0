// REQ, COUNT and CLOSE: what is stored, and what a request may cost.

#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

class ClientRequestTest : public ClientTest {
 protected:
  // Returns notes and an EOSE, as they were said.
  static std::vector<std::string> Answer(const std::string& name, const std::vector<std::string>& notes) {
    std::vector<std::string> answer;
    const std::string head = EventMessageHead(name);
    for (const std::string& note : notes) answer.emplace_back(head).append(note).append("]");
    answer.push_back(EoseMessage(name));
    return answer;
  }
};

TEST_F(ClientRequestTest, StoredEventsComeNewestFirstThenEose) {
  std::vector<std::string> notes = Notes(10);
  Store(notes);
  std::ranges::reverse(notes);
  Seat& client = Connect();
  client.Say(R"(["REQ","all",{"kinds":[1]}])");
  EXPECT_EQ(Hear(client, 11), Answer("all", notes));
  client.Say(R"(["REQ","some",{"kinds":[1],"limit":3}])");
  EXPECT_EQ(Hear(client, 4), Answer("some", {notes.begin(), notes.begin() + 3}));
  EXPECT_EQ(Ask(client, R"(["REQ","none",{"ids":[]}])"), R"(["EOSE","none"])");
  EXPECT_EQ(Ask(client, R"(["REQ","later",{"limit":0}])"), R"(["EOSE","later"])");
  EXPECT_EQ(Ask(client, R"(["COUNT","n",{"kinds":[1]},{"kinds":[1],"limit":2}])"), R"(["COUNT","n",{"count":10}])");
}

// nostrify, nostr-fetch, nostr-relaypool and notedeck see no EOSE that has a third element.
TEST_F(ClientRequestTest, EoseSaysWhetherAllWasSentOnlyWhereThatIsSetAndSure) {
  const std::string own = "\"" + ToHex(signer_.pubkey()) + "\"";
  const struct {
    std::string filters;
    const char* hint;
  } cases[] = {
      {R"({"kinds":[1]})", R"(,["finish"])"},
      {R"({"kinds":[1],"limit":3})", R"(,["more"])"},
      {R"({"kinds":[1],"limit":2},{"kinds":[1]})", R"(,["finish"])"},
      {R"({"ids":[]})", R"(,["finish"])"},
      {R"({"limit":0})", ""},
      {R"({"kinds":[7],"limit":0},{"kinds":[1]})", ""},
      // Direct messages may be kept from this client, and whether there is one is not told.
      {"{}", ""},
      {R"({"kinds":[1,4]})", ""},
      {R"({"authors":[)" + own + "]}", ""},
      {R"({"#p":[)" + own + "]}", ""},
      {R"({"limit":3})", R"(,["more"])"},
  };
  Store(Notes(10));
  for (const bool set : {false, true}) {
    settings_.eose_completeness = set;
    Seat& client = Connect();
    for (const auto& c : cases) {
      client.Say(R"(["REQ","s",)" + c.filters + "]");
      RunUntil([&] { return client->last().starts_with("[\"EOSE\""); });
      EXPECT_EQ(client->last(), std::string(R"(["EOSE","s")") + (set ? c.hint : "") + "]") << c.filters;
      client->said.clear();
    }
  }
}

TEST_F(ClientRequestTest, ASubscriptionIsReplacedByItsNameAndEndsWithClose) {
  Seat& reader = Connect();
  Seat& writer = Connect();
  Ask(reader, R"(["REQ","s",{"kinds":[1]}])");
  Ask(reader, R"(["REQ","s",{"kinds":[7]}])");
  EXPECT_EQ(delivery_->subscriptions(), 1U);
  const std::string note = Note("nobody");
  Ask(writer, Publish(note));
  const std::string like = signer_.SignedEvent(kNow, 7, "[]", "+");
  Ask(writer, Publish(like));
  EXPECT_EQ(Hear(reader)[0], R"(["EVENT","s",)" + like + "]");
  reader.Say(R"(["CLOSE","s"])");
  reader.Say(R"(["CLOSE","unknown"])");
  EXPECT_EQ(delivery_->subscriptions(), 0U);
  EXPECT_TRUE(reader->said.empty());
}

TEST_F(ClientRequestTest, TooManySubscriptionsAreRefused) {
  settings_.max_subscriptions = 2;
  Seat& client = Connect();
  Ask(client, R"(["REQ","a",{}])");
  Ask(client, R"(["REQ","b",{}])");
  EXPECT_TRUE(Ask(client, R"(["REQ","c",{}])").starts_with(R"(["CLOSED","c","error: too many subscriptions)"));
  EXPECT_EQ(Ask(client, R"(["REQ","a",{}])"), R"(["EOSE","a"])") << "replacing is no more";
  client.Say(R"(["CLOSE","b"])");
  EXPECT_EQ(Ask(client, R"(["REQ","c",{}])"), R"(["EOSE","c"])");
}

// 5,000 REQs of one value of 250 KB were 1.2 GiB, and were counted as 5,000 values.
TEST_F(ClientRequestTest, RequestsAreBoundedInBytesForAllConnectionsOfAnAddress) {
  settings_.auth = false;  // else a client that asks for every kind is asked to authenticate
  Build(32 << 20, {}, {.address_bytes = 500'000});
  const auto req = [](const std::string& name, size_t bytes) {
    return "[\"REQ\",\"" + name + "\",{\"#t\":[\"" + std::string(bytes, 'x') + "\"],\"limit\":0}]";
  };
  Seat& first = Connect();
  Seat& second = Connect();
  EXPECT_EQ(Ask(first, req("a", 200'000)), R"(["EOSE","a"])") << "400,000 until the query is over";
  EXPECT_EQ(Ask(second, req("a", 100'000)), R"(["EOSE","a"])");
  const std::string refusal = R"(["CLOSED","b","rate-limited: this relay holds at most )";
  EXPECT_TRUE(Ask(second, req("b", 120'000)).starts_with(refusal));
  std::string count = req("b", 220'000);
  count.replace(2, 3, "COUNT");
  EXPECT_TRUE(Ask(second, count).starts_with(refusal));
  EXPECT_EQ(Ask(second, R"(["REQ","b",{"kinds":[1],"limit":0}])"), R"(["EOSE","b"])") << "there is room for little";
  EXPECT_EQ(Ask(Connect("192.0.2.2"), req("a", 200'000)), R"(["EOSE","a"])") << "another address has its own bound";
  first.Say(R"(["CLOSE","a"])");
  EXPECT_EQ(Ask(second, req("c", 120'000)), R"(["EOSE","c"])");
}

// Queued, running or live, all are in memory.
TEST_F(ClientRequestTest, RequestsCountFromTheMessageOnUntilTheyAreGone) {
  settings_.auth = false;
  Store(Notes(400, std::string(10'000, 'x')));
  const std::string value(50'000, 'y');
  Seat& client = Connect();
  SayWithoutReading(client);
  const uint64_t before = ledger_->bytes();
  client.Say("[\"REQ\",\"t\",{\"#t\":[\"" + value + "\"]}]");
  EXPECT_GE(ledger_->bytes(), before + 2 * value.size()) << "it is queued, and will be live while its query runs";
  EXPECT_GE(waiting_bytes_, static_cast<int64_t>(value.size())) << "for which no limit is judged by it";
  client.Say("[\"COUNT\",\"u\",{\"#t\":[\"" + value + "\"]}]");
  EXPECT_GE(ledger_->bytes(), before + 3 * value.size());
  EXPECT_GE(waiting_bytes_, static_cast<int64_t>(2 * value.size()));
  EXPECT_EQ(own_bytes_, static_cast<int64_t>(ledger_->bytes()));
  client->takes = true;
  RunUntil([&] {
    client->TakeAll();
    return client->Count("[\"COUNT\"") > 0 && client->Count("[\"EOSE\"") >= 2;
  });
  RunUntilIdle();
  EXPECT_LT(ledger_->bytes(), before + 2 * value.size());
  EXPECT_GE(ledger_->bytes(), before + value.size());
  client.Say(R"(["CLOSE","t"])");
  client.Say(R"(["CLOSE","s"])");
  RunUntilAllIsGivenBack();
}

TEST_F(ClientRequestTest, BadRequestsAreClosedWithTheReason) {
  Seat& client = Connect();
  EXPECT_TRUE(
      Ask(client, R"(["REQ","s",{"search":"x"}])").starts_with(R"(["CLOSED","s","unsupported: filter 1: unknown )"));
  EXPECT_TRUE(Ask(client, R"(["REQ"])").starts_with("[\"NOTICE\",\"invalid: "));
}

TEST_F(ClientRequestTest, AClientThatDoesNotReadIsSentNoMoreThanItMayKeepWaiting) {
  const std::vector<std::string> notes = Notes(400, std::string(10'000, 'x'));
  Store(notes);
  Seat& client = Connect();
  SayWithoutReading(client);
  RunUntilIdle();
  EXPECT_LT(client->pending, 600U << 10);
  EXPECT_EQ(client->waiting.size(), 1U);
  // Its further requests wait too, and it may still close.
  client.Say(R"(["REQ","t",{"kinds":[1],"limit":1}])");
  RunUntilIdle();
  EXPECT_EQ(client->Count(R"(["EVENT","t")"), 0U);
  TakeUntil(client, "[\"EOSE\"", 2);
  EXPECT_EQ(client->Count(R"(["EVENT","s")"), notes.size());
  EXPECT_EQ(client->Count(R"(["EVENT","t")"), 1U);
}

TEST_F(ClientRequestTest, AScanEndsWithItsSubscriptionAndWithItsClient) {
  Store(Notes(400, std::string(10'000, 'x')));
  Seat& client = Connect();
  SayWithoutReading(client);
  EXPECT_EQ(store_.queries_open(), 1U);
  client.Say(R"(["CLOSE","s"])");
  RunUntil([&] { return store_.queries_open() == 0; });
  const size_t said = client->said.size();
  client->TakeAll();
  RunUntilIdle();
  EXPECT_EQ(client->said.size(), said);

  Seat& leaver = Connect();
  SayWithoutReading(leaver);
  End(leaver);
  RunUntil([&] { return store_.queries_open() == 0 && delivery_->subscriptions() == 0; });
}

TEST_F(ClientRequestTest, AScanThatWaitsForItsClientIsSuspended) {
  Store(Notes(400, std::string(10'000, 'x')));
  Seat& client = Connect();
  SayWithoutReading(client);
  EXPECT_EQ(store_.suspensions(), 1U);
  // It has no turn meanwhile: others of its address go on.
  for (size_t i = 0; i < ScanTurns::kMostAtOnce; ++i) {
    Seat& other = Connect();
    other.Say(R"(["REQ","t",{"kinds":[1]}])");
    RunUntil([&] { return other->Count("[\"EOSE\"") == 1; });
  }
  TakeUntil(client);
  EXPECT_EQ(client->Count(R"(["EVENT","s")"), 400U);
}

TEST_F(ClientRequestTest, AFaultInASliceIsAnsweredAndGivesBackWhatItHeld) {
  Store(Notes(3));
  Seat& client = Connect();
  for (int i = 0; i < 10; ++i) {
    store_.ThrowInQuery();
    EXPECT_TRUE(Ask(client, R"(["REQ","s",{"kinds":[1]}])").starts_with(R"(["CLOSED","s","error: this could not be)"));
    store_.ThrowInQuery();
    EXPECT_TRUE(
        Ask(client, R"(["COUNT","n",{"kinds":[1]}])").starts_with(R"(["CLOSED","n","error: this could not be)"));
  }
  RunUntilAllIsGivenBack();
  EXPECT_EQ(Ask(client, R"(["COUNT","n",{"kinds":[1]}])"), R"(["COUNT","n",{"count":3}])");
}

TEST_F(ClientRequestTest, AScanThatWouldHoldTooMuchIsRefused) {
  Build(32 << 20, {}, {.address_bytes = 64 << 10});
  Store(Notes(1500));
  store_.SetHeldBytes(64 << 10);
  Seat& client = Connect();
  const std::string refusal = "rate-limited: the requests of your address hold too much memory; ask for less at once";
  EXPECT_EQ(Ask(client, R"(["COUNT","n",{"kinds":[1]}])"), R"(["CLOSED","n",")" + refusal + R"("])");
  RunUntilAllIsGivenBack();
}

// There are so many requests that their removal takes several turns, and a report comes between.
TEST_F(ClientRequestTest, ASliceThatWasCancelledReportsToAConnectionThatIsGone) {
  Store(Notes(3));
  Seat& client = Connect();
  std::latch over(1);
  std::latch there(2);
  for (int thread = 0; thread < 2; ++thread) {
    pool_->Submit(Urgency::kUrgent, Party{}, [&] {
      there.count_down();
      over.wait();
    });
  }
  there.wait();
  std::vector<std::string> messages;
  for (int i = 0; i < 12; ++i) messages.push_back("[\"REQ\",\"" + std::to_string(i) + "\",{\"kinds\":[1]}]");
  client.Say(messages);
  End(client);
  over.count_down();
  RunUntilIdle();
  EXPECT_TRUE(client->said.empty());
  RunUntilAllIsGivenBack();
}

TEST_F(ClientRequestTest, ManyLongCountsOfAnAddressAreEachAnswered) {
  Store(Notes(1500, std::string(1000, 'x')));
  std::vector<Seat*> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(&Connect());
    for (int n = 0; n < 5; ++n) clients.back()->Say(R"(["COUNT","n)" + std::to_string(n) + R"(",{"kinds":[1]}])");
  }
  RunUntil([&] { return std::ranges::all_of(clients, [](Seat* c) { return (*c)->Count("[\"COUNT\"") == 5; }); });
  EXPECT_EQ(context_->scan_turns->waiting(), 0U);
  RunUntilAllIsGivenBack();
}

TEST_F(ClientRequestTest, GivingUpClosesEachRequestWithTheReason) {
  Store(Notes(400, std::string(10'000, 'x')));
  Seat& client = Connect();
  SayWithoutReading(client);
  client.Say(R"(["REQ","queued",{"kinds":[1]}])");
  client.client->OnGiveUp("memory is short");
  EXPECT_EQ(client->Count(R"(["CLOSED","s","rate-limited: memory is short"])"), 1U);
  EXPECT_EQ(client->Count(R"(["CLOSED","queued","rate-limited: memory is short"])"), 1U);
  RunUntilAllIsGivenBack();
}

TEST_F(ClientRequestTest, InAnEmergencyScansAreRefusedAndCheapRequestsServed) {
  Build();
  const std::vector<std::string> notes = Notes(3);
  Store(notes);
  Engine(0.1, 1.5);
  Seat& client = Connect();
  EXPECT_TRUE(
      Ask(client, R"(["REQ","heavy",{"kinds":[1]}])").starts_with(R"(["CLOSED","heavy","rate-limited: emergency; )"));
  EXPECT_TRUE(Ask(client, R"(["COUNT","heavy",{}])").starts_with(R"(["CLOSED","heavy","rate-limited: emergency; )"));
  client.Say(R"(["REQ","cheap",{"ids":[")" + IdOf(notes[0]) + R"("]}])");
  EXPECT_EQ(Hear(client, 2), Answer("cheap", {notes[0]}));
}

TEST_F(ClientRequestTest, AScanThatWaitsForASlotIsServedWhenItComes) {
  Build(32 << 20, {.read_max_scans = 1});
  Store(Notes(400, std::string(10'000, 'x')));
  monitor_.Say([](LoadSample* sample) {
    sample->Add({.name = "memory", .level = 0.95, .acts_on_writes = false, .acts_on_reads = true});
    return Status();
  });
  SampleForTwoSeconds();
  Seat& slow = Connect();
  SayWithoutReading(slow, R"(["REQ","slow",{"kinds":[1]}])");
  // It does not keep the slot while its client does not read, and waits for one when that goes on.
  std::optional<Admission> holder = limiter_->Admit(Operation::kRead, Cost{1 << 30}, Party{.id = 99});
  ASSERT_TRUE(holder->admitted());
  const size_t events = slow->said.size();
  slow->TakeAll();
  RunUntilIdle();
  EXPECT_EQ(slow->said.size(), events);
  Seat& second = Connect();
  second.Say(R"(["REQ","second",{"kinds":[1]}])");
  RunUntilIdle();
  EXPECT_TRUE(second->said.empty()) << "it waits";
  Seat& third = Connect();
  third.Say(R"(["REQ","third",{"kinds":[1]}])");
  third.Say(R"(["CLOSE","third"])");
  holder.reset();
  RunUntil([&] { return second->Count("[\"EOSE\"") == 1; });
  EXPECT_GT(slow->said.size(), events);

  RunUntil([&] { return !slow->waiting.empty(); });
  holder = limiter_->Admit(Operation::kRead, Cost{1 << 30}, Party{.id = 99});
  ASSERT_TRUE(holder->admitted());
  second.Say(R"(["REQ","late",{"kinds":[1]}])");
  RunUntilIdle();
  clock_.Advance(std::chrono::seconds(2));
  limiter_->Pump();
  RunUntil([&] { return second->Count(R"(["CLOSED","late","rate-limited: memory; )") == 1; });
}

}  // namespace
}  // namespace weir
