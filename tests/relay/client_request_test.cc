// REQ, COUNT and CLOSE: what is stored, what comes live, and nothing lost or doubled between the two.
#include <map>
#include <random>
#include <set>

#include "tests/relay/client_fixture.h"

namespace weir {
namespace {

class ClientRequestTest : public ClientTest {
 protected:
  // Notes and an EOSE, as they were said.
  static std::vector<std::string> Answer(const std::string& name, const std::vector<std::string>& notes,
                                         const std::string& hint = "finish") {
    std::vector<std::string> answer;
    const std::string head = EventMessageHead(name);
    for (const std::string& note : notes) answer.emplace_back(head).append(note).append("]");
    answer.push_back("[\"EOSE\",\"" + name + "\",[\"" + hint + "\"]]");
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
  EXPECT_EQ(Hear(client, 4), Answer("some", {notes.begin(), notes.begin() + 3}, "more"));
  EXPECT_EQ(Ask(client, R"(["REQ","none",{"ids":[]}])"), R"(["EOSE","none",["finish"]])");
  EXPECT_EQ(Ask(client, R"(["REQ","later",{"limit":0}])"), R"(["EOSE","later"])");
  EXPECT_EQ(Ask(client, R"(["COUNT","n",{"kinds":[1]},{"kinds":[1],"limit":2}])"), R"(["COUNT","n",{"count":10}])");
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
  EXPECT_TRUE(Ask(client, R"(["REQ","c",{}])").starts_with(R"(["CLOSED","c","restricted: too many subscriptions)"));
  EXPECT_EQ(Ask(client, R"(["REQ","a",{}])"), R"(["EOSE","a",["finish"]])") << "replacing is no more";
  client.Say(R"(["CLOSE","b"])");
  EXPECT_EQ(Ask(client, R"(["REQ","c",{}])"), R"(["EOSE","c",["finish"]])");
}

TEST_F(ClientRequestTest, FiltersAreBoundedInSizeForConnectionsAddressesAndAll) {
  settings_.max_filter_values = 100;
  Build();
  context_->max_filter_values = 2600;
  const auto req = [](const std::string& name, int first, int values) {
    std::string kinds;
    for (int kind = first; kind < first + values; ++kind) kinds += (kinds.empty() ? "" : ",") + std::to_string(kind);
    return "[\"REQ\",\"" + name + "\",{\"kinds\":[" + kinds + "],\"limit\":0}]";
  };
  Seat& first = Connect();
  for (const char* name : {"a", "b", "c"})
    EXPECT_EQ(Ask(first, req(name, 1, 99)), "[\"EOSE\",\"" + std::string(name) + "\"]");
  EXPECT_EQ(Ask(first, req("c", 100, 100)), R"(["EOSE","c"])");
  EXPECT_TRUE(Ask(first, req("d", 1, 100)).starts_with(R"(["CLOSED","d","restricted: the filters of a)"));
  Seat& second = Connect();
  for (const char* name : {"a", "b", "c"})
    EXPECT_EQ(Ask(second, req(name, 1, 99)), "[\"EOSE\",\"" + std::string(name) + "\"]");
  EXPECT_TRUE(Ask(second, req("d", 1, 99)).starts_with(R"(["CLOSED","d","rate-limited: the requests of your)"));
  std::string count = req("d", 1, 99);
  count.replace(2, 3, "COUNT");
  EXPECT_TRUE(Ask(second, count).starts_with(R"(["CLOSED","d","rate-limited: the requests of your)"));
  EXPECT_EQ(Ask(second, req("d", 1, 10)), R"(["EOSE","d"])") << "few values are served all the same";
  EXPECT_EQ(Ask(Connect("192.0.2.2"), req("a", 1, 99)), R"(["EOSE","a"])") << "another address has a share of its own";
  End(first);
  RunUntil([&] { return delivery_->subscriptions() == 5; });
  EXPECT_EQ(context_->filter_values->total(), 3 * 100U + 11 + 100);
  EXPECT_EQ(Ask(second, req("e", 1, 80)), R"(["EOSE","e"])");
}

// Queued, running, counted: all are in memory.
TEST_F(ClientRequestTest, FilterValuesCountFromTheMessageOn) {
  Store(Notes(400, std::string(10'000, 'x')));
  Seat& client = Connect();
  client->takes = false;
  client.Say(R"(["REQ","s",{"kinds":[1]}])");
  RunUntil([&] { return !client->waiting.empty(); });
  client.Say(R"(["REQ","t",{"kinds":[1,2]}])");
  client.Say(R"(["COUNT","u",{"kinds":[1,2,3]}])");
  EXPECT_EQ(context_->filter_values->total(), 2U + 3 + 4);
  client->takes = true;
  while (client->Count("[\"COUNT\"") == 0) {
    client->TakeAll();
    RunForAWhile();
  }
  RunUntil([&] { return client->Count("[\"EOSE\"") == 2; });
  EXPECT_EQ(context_->filter_values->total(), 2U + 3);
  client.Say(R"(["CLOSE","s"])");
  client.Say(R"(["CLOSE","t"])");
  EXPECT_EQ(context_->filter_values->total(), 0U);
}

// Saved after the subscription was made and before its query was, so it comes live with a serial that the query covers.
TEST_F(ClientRequestTest, WhatTheQueryDidNotAskForComesLive) {
  const std::string like = signer_.SignedEvent(kNow, 7, "[]", "+");
  const std::string note = Note("stored");
  Store({note, like});
  Seat& client = Connect();
  client.Say(R"(["REQ","s",{"kinds":[7],"limit":0},{"kinds":[1]}])");
  EXPECT_EQ(Hear(client, 2)[1], R"(["EOSE","s",["finish"]])");
  const auto batch = std::make_shared<LiveBatch>(*budget_);
  EventParser parser;
  batch->events.push_back({parser.Parse(note).value(), 1, clock_.Now()});
  batch->events.push_back({parser.Parse(like).value(), 2, clock_.Now()});
  delivery_->Deliver({}, batch);
  EXPECT_EQ(Hear(client)[0], R"(["EVENT","s",)" + like + "]");
  RunForAWhile();
  EXPECT_TRUE(client->said.empty()) << "the stored one came already";
}

TEST_F(ClientRequestTest, FiltersForThePastOfARelayThatTakesNoneAreNotLive) {
  settings_.created_at_past_s = 100;
  Seat& client = Connect();
  Ask(client, R"(["REQ","old",{"until":)" + std::to_string(kNow - 101) + R"(},{"since":2,"until":1}])");
  Ask(client, R"(["REQ","new",{"until":)" + std::to_string(kNow) + "}]");
  const std::string note = Note("now");
  client.Say(Publish(note));
  const auto heard = Hear(client, 2);
  EXPECT_EQ(std::ranges::count(heard, R"(["EVENT","new",)" + note + "]"), 1);
}

TEST_F(ClientRequestTest, BadRequestsAreClosedWithTheReason) {
  Seat& client = Connect();
  EXPECT_TRUE(
      Ask(client, R"(["REQ","s",{"search":"x"}])").starts_with(R"(["CLOSED","s","invalid: filter 1: unknown )"));
  EXPECT_TRUE(Ask(client, R"(["REQ"])").starts_with("[\"NOTICE\",\"invalid: "));
}

TEST_F(ClientRequestTest, AClientThatDoesNotReadIsSentNoMoreThanItMayKeepWaiting) {
  const std::vector<std::string> notes = Notes(400, std::string(10'000, 'x'));
  Store(notes);
  Seat& client = Connect();
  client->takes = false;
  client.Say(R"(["REQ","s",{"kinds":[1]}])");
  RunUntil([&] { return !client->waiting.empty(); });
  RunForAWhile();
  EXPECT_LT(client->pending, 600U << 10);
  EXPECT_EQ(client->waiting.size(), 1U);
  // Its further requests wait too, and it may still close.
  client.Say(R"(["REQ","t",{"kinds":[1],"limit":1}])");
  RunForAWhile();
  EXPECT_EQ(client->Count(R"(["EVENT","t")"), 0U);
  while (client->Count("[\"EOSE\"") < 2) {
    client->TakeAll();
    RunForAWhile();
  }
  EXPECT_EQ(client->Count(R"(["EVENT","s")"), notes.size());
  EXPECT_EQ(client->Count(R"(["EVENT","t")"), 1U);
}

TEST_F(ClientRequestTest, AScanEndsWithItsSubscriptionAndWithItsClient) {
  Store(Notes(400, std::string(10'000, 'x')));
  Seat& client = Connect();
  client->takes = false;
  client.Say(R"(["REQ","s",{"kinds":[1]}])");
  RunUntil([&] { return !client->waiting.empty(); });
  EXPECT_EQ(store_.queries_open(), 1U);
  client.Say(R"(["CLOSE","s"])");
  RunUntil([&] { return store_.queries_open() == 0; });
  const size_t said = client->said.size();
  client->TakeAll();
  RunForAWhile();
  EXPECT_EQ(client->said.size(), said);

  Seat& leaver = Connect();
  leaver->takes = false;
  leaver.Say(R"(["REQ","s",{"kinds":[1]}])");
  RunUntil([&] { return !leaver->waiting.empty(); });
  End(leaver);
  RunUntil([&] { return store_.queries_open() == 0 && delivery_->subscriptions() == 0; });
}

TEST_F(ClientRequestTest, LiveEventsWaitForTheStoredOnesAndThenCome) {
  Store(Notes(100, std::string(10'000, 'x')));
  Seat& reader = Connect();
  Seat& writer = Connect();
  reader->takes = false;
  reader.Say(R"(["REQ","s",{"kinds":[1]}])");
  RunUntil([&] { return !reader->waiting.empty(); });
  const std::string note = Note("meanwhile");
  EXPECT_EQ(Ask(writer, Publish(note)), OkFor(note));
  RunForAWhile();
  EXPECT_EQ(reader->Count(R"(["EVENT","s",)" + note), 0U);
  while (reader->Count("[\"EOSE\"") == 0) {
    reader->TakeAll();
    RunForAWhile();
  }
  EXPECT_EQ(reader->last(), R"(["EVENT","s",)" + note + "]");
}

TEST_F(ClientRequestTest, ASubscriptionThatWouldHoldTooMuchIsClosed) {
  Build();
  context_->max_pending_bytes = 500 << 10;
  Store(Notes(100, std::string(10'000, 'x')));
  Seat& reader = Connect();
  Seat& writer = Connect();
  reader->takes = false;
  reader.Say(R"(["REQ","s",{"kinds":[1]}])");
  RunUntil([&] { return !reader->waiting.empty(); });
  for (const std::string& note : Notes(40, std::string(10'000, 'y'))) Ask(writer, Publish(note));
  EXPECT_TRUE(reader->last().starts_with(R"(["CLOSED","s","error: more new events than)")) << reader->last();
  EXPECT_EQ(delivery_->subscriptions(), 0U);
  RunUntil([&] { return store_.queries_open() == 0; });
}

// Subscribers come, close and come again while events are saved.
TEST_F(ClientRequestTest, EachEventComesOnceStoredOrLive) {
  settings_.max_limit = settings_.default_limit = 10'000;
  Build();
  std::mt19937 random(11);
  Seat& writer = Connect();
  std::vector<Seat*> readers;
  for (int i = 0; i < 4; ++i) readers.push_back(&Connect());
  std::map<Seat*, int> round;  // of its subscription
  std::set<std::string> published;
  size_t answers = 0;
  for (int step = 0; step < 400; ++step) {
    std::vector<std::string> messages;
    for (const std::string& note : Notes(random() % 6)) {
      published.insert(note);
      messages.push_back(Publish(note));
    }
    writer.Say(messages);
    answers += messages.size();
    Seat* reader = readers[random() % readers.size()];
    if (random() % 4 == 0) reader->Say(R"(["REQ","r)" + std::to_string(++round[reader]) + R"(",{"kinds":[1]}])");
    if (random() % 4 == 0) reader->Say(R"(["CLOSE","r)" + std::to_string(round[reader]) + R"("])");
    io_.restart();
    if (random() % 2 == 0) io_.poll_one();
    if (random() % 8 == 0) io_.poll();
  }
  for (Seat* reader : readers) reader->Say(R"(["REQ","last",{"kinds":[1]}])");
  RunUntil([&] { return writer->said.size() == answers; });
  for (Seat* reader : readers) {
    RunUntil([&] { return (*reader)->Count(R"(["EVENT","last")") == published.size(); });
    RunForAWhile();
    std::set<std::string> last;
    for (const std::string& text : (*reader)->said) {
      if (!text.starts_with(R"(["EVENT","last",)")) continue;
      EXPECT_TRUE(last.insert(text).second) << "twice: " << text;
    }
    EXPECT_EQ(last.size(), published.size());
  }
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
  for (int i = 0; i < 20; ++i) {
    clock_.Advance(std::chrono::milliseconds(100));
    ASSERT_TRUE(monitor_.SampleOnce().ok());
    limiter_->Tick();
  }
  Seat& slow = Connect();
  slow->takes = false;
  slow.Say(R"(["REQ","slow",{"kinds":[1]}])");
  RunUntil([&] { return !slow->waiting.empty(); });
  // It does not keep the slot while its client does not read, and waits for one when that goes on.
  std::optional<Admission> holder = limiter_->Admit(Operation::kRead, Cost{1 << 30}, Party{.id = 99});
  ASSERT_TRUE(holder->admitted());
  const size_t events = slow->said.size();
  slow->TakeAll();
  RunForAWhile();
  EXPECT_EQ(slow->said.size(), events);
  Seat& second = Connect();
  second.Say(R"(["REQ","second",{"kinds":[1]}])");
  RunForAWhile();
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
  RunForAWhile();
  clock_.Advance(std::chrono::seconds(2));
  limiter_->Pump();
  RunUntil([&] { return second->Count(R"(["CLOSED","late","rate-limited: memory; )") == 1; });
}

}  // namespace
}  // namespace weir
