// Events that come live to a REQ: none is lost or doubled between these and the stored ones.
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "tests/fixtures/failing_memory.h"
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

using ClientLiveTest = ClientTest;

// Saved after the subscription was made and before its query was, so it comes live with a serial that the query covers.
TEST_F(ClientLiveTest, EventsThatTheQueryDidNotAskForComeLive) {
  const std::string like = signer_.SignedEvent(kNow, 7, "[]", "+");
  const std::string note = Note("stored");
  Store({note, like});
  Seat& client = Connect();
  client.Say(R"(["REQ","s",{"kinds":[7],"limit":0},{"kinds":[1]}])");
  EXPECT_EQ(Hear(client, 2)[1], R"(["EOSE","s"])");
  const auto batch = std::make_shared<LiveBatch>(*budget_);
  EventParser parser;
  batch->events.push_back({parser.Parse(note).value(), {.number = 1}, clock_.Now()});
  batch->events.push_back({parser.Parse(like).value(), {.number = 2}, clock_.Now()});
  delivery_->Deliver({}, batch);
  EXPECT_EQ(Hear(client)[0], R"(["EVENT","s",)" + like + "]");
  RunUntilIdle();
  EXPECT_TRUE(client->said.empty()) << "the stored one came already";
}

// Otherwise the live index would keep pointers to requests that are destroyed.
TEST_F(ClientLiveTest, WhereMemoryFailsAtTheEndSubscriptionsStillEnd) {
  Seat& client = Connect();
  for (int n = 0; n < 9; ++n) Ask(client, R"(["REQ","s)" + std::to_string(n) + R"(",{"kinds":[1],"limit":0}])");
  ASSERT_EQ(delivery_->subscriptions(), 9U);
  FailAlignedAllocation(1);
  EXPECT_NO_THROW(End(client));
  EXPECT_TRUE(EndFailing());
  EXPECT_EQ(delivery_->subscriptions(), 0U);
}

// The reader of the events of other relays waits for this.
TEST_F(ClientLiveTest, WhereMemoryFailsSharedEventsAreStillDone) {
  Seat& client = Connect();
  Ask(client, R"(["REQ","s",{"kinds":[1],"limit":0}])");
  EventParser parser;
  std::vector<LiveEvent> events;
  events.push_back({parser.Parse(Note("shared")).value(), {.number = 1}, clock_.Now()});
  bool done = false;
  FailAlignedAllocation(1);
  EXPECT_NO_THROW(pipeline_->DeliverShared(std::move(events), [&] { done = true; }));
  EXPECT_TRUE(EndFailing());
  EXPECT_TRUE(done);
}

TEST_F(ClientLiveTest, FiltersForAPastThatTheRelayRefusesAreNotLive) {
  settings_.created_at_past_s = 100;
  Seat& client = Connect();
  Ask(client, R"(["REQ","old",{"until":)" + std::to_string(kNow - 101) + R"(},{"since":2,"until":1}])");
  Ask(client, R"(["REQ","new",{"until":)" + std::to_string(kNow) + "}]");
  const std::string note = Note("now");
  client.Say(Publish(note));
  const auto heard = Hear(client, 2);
  EXPECT_EQ(std::ranges::count(heard, R"(["EVENT","new",)" + note + "]"), 1);
}

TEST_F(ClientLiveTest, LiveEventsWaitForTheStoredOnesAndThenCome) {
  Store(Notes(100, std::string(10'000, 'x')));
  Seat& reader = Connect();
  Seat& writer = Connect();
  SayWithoutReading(reader);
  const std::string note = Note("meanwhile");
  EXPECT_EQ(Ask(writer, Publish(note)), OkFor(note));
  RunUntilIdle();
  EXPECT_EQ(reader->Count(R"(["EVENT","s",)" + note), 0U);
  TakeUntil(reader);
  EXPECT_EQ(reader->last(), R"(["EVENT","s",)" + note + "]");
}

// The old version may be gone before the query comes to it, and the new one has a place that it has passed.
TEST_F(ClientLiveTest, ANewVersionThatComesWhileTheAnswerIsSentIsSaidBeforeEose) {
  Store(Notes(100, std::string(10'000, 'x')));
  Seat& reader = Connect();
  Seat& writer = Connect();
  SayWithoutReading(reader, R"(["REQ","s",{"kinds":[0,1,30023]},{"kinds":[10002],"limit":0}])");
  const std::string note = Note("meanwhile");
  const std::string profile = signer_.SignedEvent(kNow, 0, "[]", "{}");
  const std::string article = signer_.SignedEvent(kNow, 30023, R"([["d","a"]])", "");
  const std::string live_alone = signer_.SignedEvent(kNow, 10002, "[]", "");
  for (const std::string& event : {note, live_alone, profile, article}) Ask(writer, Publish(event));
  RunUntilIdle();
  TakeUntil(reader);
  ASSERT_EQ(reader->said.size(), 105U);
  const auto came = [](const std::string& event) { return R"(["EVENT","s",)" + event + "]"; };
  EXPECT_EQ((std::vector<std::string>(reader->said.begin() + 100, reader->said.end())),
            (std::vector<std::string>{came(profile), came(article), R"(["EOSE","s"])", came(note), came(live_alone)}));
}

// There is a turn's worth of new versions, so that EOSE comes with the next turn.
TEST_F(ClientLiveTest, EoseComesBehindAsManyNewVersionsAsATurnSays) {
  constexpr size_t kOfATurn = kTurnWork / kDeliveryWork;
  Store(Notes(100, std::string(10'000, 'x')));
  Seat& reader = Connect();
  SayWithoutReading(reader, R"(["REQ","s",{"kinds":[0,1]}])");
  const Event profile = EventParser().Parse(signer_.SignedEvent(kNow, 0, "[]", "{}")).value();
  const auto batch = std::make_shared<LiveBatch>(*budget_);
  for (size_t i = 0; i < kOfATurn; ++i) batch->events.push_back({profile, {.number = 1000 + i}, clock_.Now()});
  delivery_->Deliver({}, batch);
  RunUntilIdle();
  reader->takes = true;
  reader->TakeAll();
  RunUntil([&] { return reader->Count("[\"EOSE\"") == 1; });
  EXPECT_EQ(reader->last(), R"(["EOSE","s"])");
  EXPECT_EQ(reader->said.size(), 100 + kOfATurn + 1);
}

TEST_F(ClientLiveTest, HeldEventsAreSentInTurnsBeforeNewerOnes) {
  constexpr size_t kHeld = 1200;
  constexpr size_t kOfATurn = kTurnWork / kDeliveryWork;
  Store(Notes(100, std::string(10'000, 'x')));
  Seat& reader = Connect();
  SayWithoutReading(reader);
  EventParser parser;
  const std::vector<std::string> notes = Notes(kHeld + 1);
  const auto deliver = [&](size_t from, size_t to) {
    const auto batch = std::make_shared<LiveBatch>(*budget_);
    for (size_t i = from; i < to; ++i)
      batch->events.push_back({parser.Parse(notes[i]).value(), {.number = 1000 + i}, clock_.Now()});
    delivery_->Deliver({}, batch);
  };
  deliver(0, kHeld);
  RunUntilIdle();
  reader->takes = true;
  reader->TakeAll();
  bool comes_behind = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (reader->said.size() < 101 + notes.size()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << reader->said.size() << " came";
    const size_t before = reader->said.size();
    io_.restart();
    if (io_.poll_one() == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    ASSERT_LE(reader->said.size(), before + kOfATurn + 101);
    if (reader->said.size() > 101 && !std::exchange(comes_behind, true)) deliver(kHeld, kHeld + 1);
  }
  for (size_t i = 0; i < notes.size(); ++i) EXPECT_EQ(reader->said[101 + i], R"(["EVENT","s",)" + notes[i] + "]");
}

TEST_F(ClientLiveTest, ASubscriptionThatWouldHoldTooMuchIsClosed) {
  Build();
  context_->max_pending_bytes = 500 << 10;
  Store(Notes(100, std::string(10'000, 'x')));
  Seat& reader = Connect();
  Seat& writer = Connect();
  SayWithoutReading(reader);
  for (const std::string& note : Notes(40, std::string(10'000, 'y'))) Ask(writer, Publish(note));
  EXPECT_TRUE(reader->last().starts_with(R"(["CLOSED","s","error: too many new events)")) << reader->last();
  EXPECT_EQ(delivery_->subscriptions(), 0U);
  RunUntil([&] { return store_.queries_open() == 0; });
}

// 100 connections whose scans waited once held 677 MiB of live events, which no account saw.
TEST_F(ClientLiveTest, HeldLiveEventsCountForEachOwnerAndOnceAsMemory) {
  Build(32 << 20, {}, {.address_bytes = 400'000});
  Store(Notes(100, std::string(10'000, 'x')));
  Seat& writer = Connect("192.0.2.2");
  std::vector<Seat*> readers;
  for (int i = 0; i < 2; ++i) {
    Seat& reader = *readers.emplace_back(&Connect());
    SayWithoutReading(reader);
  }
  const uint64_t before = ledger_->bytes();
  const int64_t own_before = own_bytes_;
  for (const std::string& note : Notes(10, std::string(10'000, 'y'))) Ask(writer, Publish(note));
  RunUntil([&] { return ledger_->bytes() > before + 200'000; });
  EXPECT_LT(own_bytes_, own_before + 132'000) << "they share the records";
  EXPECT_GT(own_bytes_, own_before + 100'000);
  for (const std::string& note : Notes(20, std::string(10'000, 'z'))) Ask(writer, Publish(note));
  const auto closed = [&] {
    return std::ranges::count_if(readers,
                                 [](Seat* r) { return (*r)->Count(R"(["CLOSED","s","error: too many new)") == 1; });
  };
  RunUntil([&] { return closed() > 0; });
  EXPECT_LE(ledger_->bytes(), 400'000U);
}

// Subscribers come, close and come again while events are saved.
TEST_F(ClientLiveTest, EachEventComesOnceStoredOrLive) {
  settings_.max_limit = settings_.default_limit = 10'000;
  Build();
  std::mt19937 random(11);
  Seat& writer = Connect();
  std::vector<Seat*> readers;
  for (int i = 0; i < 4; ++i) readers.push_back(&Connect());
  std::map<Seat*, int> round;  // numbers a reader's subscriptions
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
    RunUntilIdle();
    std::set<std::string> last;
    for (const std::string& text : (*reader)->said) {
      if (!text.starts_with(R"(["EVENT","last",)")) continue;
      EXPECT_TRUE(last.insert(text).second) << "twice: " << text;
    }
    EXPECT_EQ(last.size(), published.size());
  }
}

}  // namespace
}  // namespace weir
