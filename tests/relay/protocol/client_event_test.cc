// EVENT: what becomes of it, how many are under way, and which clients are told.
#include <set>

#include "tests/fixtures/failing_memory.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

class ClientEventTest : public ClientTest {
 protected:
  // Says many events before a gate that lets few through. Expects an answer to each, and some of either kind.
  void ExpectSomeTakenAndSomeRefused(const std::vector<std::string>& events) {
    settings_.max_events_in_flight = 200;
    Build();
    Engine(3.0);
    Seat& writer = Connect();
    writer.Say(Publish(events));
    PumpUntilSaid(writer, events.size());
    size_t taken = 0;
    size_t refused = 0;
    for (const std::string& answer : writer->said) {
      if (answer.ends_with(",true,\"\"]")) ++taken;
      if (Has(answer, ",false,\"rate-limited: l0; try again in ")) ++refused;
    }
    EXPECT_EQ(taken + refused, events.size());
    EXPECT_GT(taken, 2U);
    EXPECT_GT(refused, 2U);
  }
};

TEST_F(ClientEventTest, ASavedEventIsAnsweredAndComesToSubscribers) {
  Seat& reader = Connect();
  Seat& writer = Connect();
  EXPECT_EQ(Ask(reader, R"(["REQ","live",{"kinds":[1],"limit":0}])"), R"(["EOSE","live"])");
  const std::string note = Note("hello");
  EXPECT_EQ(Ask(writer, Publish(note)), OkFor(note));
  EXPECT_EQ(Hear(reader)[0], R"(["EVENT","live",)" + note + "]");
  EXPECT_EQ(Ask(writer, Publish(note)), OkFor(note, "duplicate: already have this event"));
}

TEST_F(ClientEventTest, ARepeatedRequestToVanishComesToTheStore) {
  Seat& writer = Connect();
  const std::string request = signer_.SignedEvent(kNow, 62, R"([["relay","ALL_RELAYS"]])", "");
  EXPECT_EQ(Ask(writer, Publish(request)), OkFor(request));
  EXPECT_EQ(Ask(writer, Publish(request)), OkFor(request, "duplicate: already have this event"));
  EXPECT_EQ(pipeline_->CommitStats().events, 2U);
}

TEST_F(ClientEventTest, RefusesABadEventWithTheReason) {
  Seat& writer = Connect();
  std::string forged = Note("forged");
  forged.replace(forged.find("\"sig\":\"") + 10, 4, "0000");
  EXPECT_EQ(Ask(writer, Publish(forged)), NotOk(forged, "invalid: the signature is not its author's"));

  std::string changed = Note("changed");
  changed.replace(changed.find("changed"), 7, "CHANGED");
  EXPECT_TRUE(
      Ask(writer, Publish(changed)).starts_with("[\"OK\",\"" + IdOf(changed) + "\",false,\"invalid: id must be"));

  EXPECT_TRUE(Ask(writer, R"(["EVENT",{"kind":1}])").starts_with("[\"NOTICE\",\"invalid: "));

  const std::string future = signer_.SignedEvent(kNow + 1000, 1, "[]", "");
  EXPECT_TRUE(Has(Ask(writer, Publish(future)), "invalid: created_at is 1000 s in the future"));
}

TEST_F(ClientEventTest, EveryOutcomeOfTheStoreHasItsAnswer) {
  Seat& writer = Connect();
  const auto answer = [&](SaveOutcome outcome) {
    store_.SetOutcome(outcome);
    const std::string note = Note("outcome " + std::to_string(static_cast<int>(outcome)));
    const std::string ok = Ask(writer, Publish(note));
    return ok.substr(ok.find(IdOf(note)) + 66);
  };
  EXPECT_EQ(answer(SaveOutcome::kSuperseded), R"(false,"replaced: a newer version is stored"])");
  EXPECT_EQ(answer(SaveOutcome::kDeleted), R"(false,"blocked: its author deleted it"])");
  EXPECT_TRUE(answer(SaveOutcome::kVanished).starts_with(R"(false,"blocked: )"));
  EXPECT_EQ(answer(SaveOutcome::kExpired), R"(false,"invalid: the event has expired"])");
}

TEST_F(ClientEventTest, AFailedWriteIsAnErrorForItsEventsAlone) {
  Seat& writer = Connect();
  EXPECT_TRUE(pipeline_->write_health().LastWrite().ok());
  store_.FailSaves("no space left on the disk");
  const std::string lost = Note("lost");
  EXPECT_EQ(Ask(writer, Publish(lost)), NotOk(lost, "error: could not be stored: no space left on the disk"));
  EXPECT_FALSE(pipeline_->write_health().LastWrite().ok());
  clock_.Advance(std::chrono::seconds(11));
  EXPECT_TRUE(pipeline_->write_health().LastWrite().ok()) << "or nobody would write to a relay that is ready again";

  store_.FailSaves("");
  EXPECT_EQ(Ask(writer, Publish(lost)), OkFor(lost));
}

TEST_F(ClientEventTest, AStoredEventInDoubtIsAcknowledgedOnlyByAWrite) {
  Seat& writer = Connect();
  const std::string note = Note("on the primary alone");
  EXPECT_EQ(Ask(writer, Publish(note)), OkFor(note));
  store_.SetInDoubt(true);
  store_.FailSaves("no standby answers");
  EXPECT_EQ(Ask(writer, Publish(note)), NotOk(note, "error: could not be stored: no standby answers"));
  store_.FailSaves("");
  EXPECT_EQ(Ask(writer, Publish(note)), OkFor(note, "duplicate: already have this event"));
}

TEST_F(ClientEventTest, EphemeralEventsAreDeliveredAndNotStored) {
  Seat& reader = Connect();
  Seat& writer = Connect();
  Ask(reader, R"(["REQ","live",{"kinds":[20001]}])");
  const std::string event = signer_.SignedEvent(kNow, 20001, "[]", "typing");
  EXPECT_EQ(Ask(writer, Publish(event)), OkFor(event));
  EXPECT_EQ(Hear(reader)[0], R"(["EVENT","live",)" + event + "]");
  EXPECT_EQ(Ask(writer, R"(["COUNT","c",{"kinds":[20001]}])"), R"(["COUNT","c",{"count":0}])");
}

TEST_F(ClientEventTest, EphemeralEventsPayAtTheWriteGate) {
  std::vector<std::string> events;
  for (uint64_t age = 0; age < 100; ++age)
    events.push_back(signer_.SignedEvent(kNow - age, 20001, "[]", std::string(20'000, 'x')));
  ExpectSomeTakenAndSomeRefused(events);
  RunUntilAllIsGivenBack();
}

TEST_F(ClientEventTest, FaultsAreAnswersAndGiveBackWhatWasHeld) {
  Seat& writer = Connect();
  const std::string lost = Note("lost");
  const auto failed = [&](const std::string& answer) {
    return answer.starts_with("[\"OK\",\"" + IdOf(lost) + "\",false,\"error: ");
  };
  store_.ThrowInReads(true);
  EXPECT_TRUE(failed(Ask(writer, Publish(lost))));
  store_.ThrowInReads(false);
  store_.ThrowInSaves(true);
  EXPECT_TRUE(failed(Ask(writer, Publish(lost))));
  store_.ThrowInSaves(false);
  RunUntilAllIsGivenBack();
  EXPECT_EQ(Ask(writer, Publish(lost)), OkFor(lost));
}

// Any one allocation of the worker may fail between two events of a batch; the clock is asked once for each event.
TEST_F(ClientEventTest, WhereMemoryFailsEachEventOfTheBatchIsAnswered) {
  Seat& writer = Connect();
  Ask(writer, Publish(Note("a parser is there")));
  RunUntilIdle();  // a worker may ask what time it is after its answer
  size_t failures = 0;
  for (size_t n = 1; n == failures + 1; ++n) {
    size_t asked = 0;
    wall_clock_.WhenAsked([&] {
      if (++asked == 1) FailAllocation(n);
      if (asked == 2 && EndFailing()) ++failures;
    });
    writer.Say(Publish(Notes(EventBatch::kMost)));
    size_t errors = 0;
    for (const std::string& answer : Hear(writer, EventBatch::kMost))
      errors += Has(answer, "false,\"error: a fault of this relay: ") ? 1 : 0;
    RunUntilIdle();
    EXPECT_LE(errors, 1U);
    RunUntilAllIsGivenBack();
    wall_clock_.WhenAsked(nullptr);
  }
  EXPECT_GT(failures, 2U);
}

TEST_F(ClientEventTest, TheWindowBoundsWhatIsUnderWayAndReadingPauses) {
  Seat& writer = Connect();
  store_.HoldSaves(true);
  const std::vector<std::string> notes = Notes(150);
  writer.Say(Publish(notes));
  EXPECT_EQ(writer->pauses, 1);
  RunUntil([&] { return pipeline_->CommitStats().events == 64; });
  RunUntilIdle();
  EXPECT_EQ(pipeline_->CommitStats().events, 64U) << "the rest waits at its connection";
  store_.HoldSaves(false);
  const auto answers = Hear(writer, notes.size());
  EXPECT_EQ(std::set<std::string>(answers.begin(), answers.end()).size(), notes.size());
  RunUntil([&] { return writer->pauses == 0; });
}

TEST_F(ClientEventTest, TheBudgetOfAllBoundsThemTogetherAndIsPassedOnInOrder) {
  const std::string big(8000, 'x');
  Build(20'000);
  Seat& first = Connect();
  Seat& second = Connect("192.0.2.2");
  store_.HoldSaves(true);
  first.Say(Publish(Notes(16, big)));
  const std::string small = Note("small");
  second.Say(Publish(small));
  RunUntilIdle();
  EXPECT_EQ(pipeline_->CommitStats().events, EventBatch::kMost) << "a batch larger than the budget passes alone";
  EXPECT_EQ(budget_->waiting(), 2U);
  EXPECT_EQ(second->pauses, 1);
  EXPECT_EQ(Ask(Connect(), R"(["COUNT","c",{"kinds":[1]}])"), R"(["COUNT","c",{"count":0}])");
  store_.HoldSaves(false);
  EXPECT_EQ(Hear(second)[0], OkFor(small));
  EXPECT_EQ(Hear(first, 16).size(), 16U);
  RunUntil([&] { return first->pauses == 0 && second->pauses == 0; });
}

TEST_F(ClientEventTest, AnAddressHasAQuarterOfTheBudgetForAllItsConnections) {
  Build(100'000);
  store_.HoldSaves(true);
  std::vector<Seat*> many;
  for (int i = 0; i < 5; ++i) {
    many.emplace_back(&Connect())->Say(Publish(Notes(4, std::string(2000, 'x'))));
  }
  RunUntilIdle();
  const uint64_t group = std::hash<std::string>()("192.0.2.1") | 1;
  EXPECT_LE(budget_->out_of(group), 25'000U);
  EXPECT_GT(budget_->waiting(), 0U);
  Seat& other = Connect("192.0.2.2");
  const uint64_t before = budget_->out();
  other.Say(Publish(Note("small")));
  EXPECT_GT(budget_->out(), before) << "it does not stand in their line";
  store_.HoldSaves(false);
  Hear(other);
  for (Seat* seat : many) EXPECT_EQ(Hear(*seat, 4).size(), 4U);
}

TEST_F(ClientEventTest, EventsCountAsHeldUntilTheirOk) {
  Seat& writer = Connect();
  store_.HoldSaves(true);
  writer.Say(Publish(Notes(80, std::string(1000, 'x'))));
  EXPECT_GE(ledger_->bytes(), 80 * 1000U) << "those that wait at their connection, too";
  EXPECT_EQ(own_bytes_, static_cast<int64_t>(ledger_->bytes()));
  EXPECT_EQ(waiting_bytes_, own_bytes_) << "and no limit is judged by them";
  store_.HoldSaves(false);
  Hear(writer, 80);
  RunUntilAllIsGivenBack();
}

TEST_F(ClientEventTest, AConnectionThatLeavesTakesItsAnswersWithIt) {
  Build(20'000);
  Seat& leaver = Connect();
  Seat& writer = Connect();
  store_.HoldSaves(true);
  leaver.Say(Publish(Notes(16, std::string(4000, 'x'))));
  const std::string note = Note("stays");
  writer.Say(Publish(note));
  End(leaver);
  store_.HoldSaves(false);
  EXPECT_EQ(Hear(writer)[0], OkFor(note));
  EXPECT_TRUE(leaver->said.empty());
}

TEST_F(ClientEventTest, EventsHeldByTheGateAreAnsweredInTurnOrRefused) {
  ExpectSomeTakenAndSomeRefused(Notes(100));
  EXPECT_GT(limiter_->Stats(Operation::kWrite).delayed, 0U);
}

TEST_F(ClientEventTest, ExpiredEventsAreNotDelivered) {
  Seat& reader = Connect();
  Seat& writer = Connect();
  Ask(reader, R"(["REQ","live",{"kinds":[1]}])");
  store_.HoldSaves(true);
  const std::string mortal =
      signer_.SignedEvent(kNow, 1, R"([["expiration",")" + std::to_string(kNow + 5) + R"("]])", "");
  writer.Say(Publish(mortal));
  RunUntil([&] { return pipeline_->CommitStats().events == 1; });
  wall_clock_.Advance(5);
  store_.HoldSaves(false);
  EXPECT_EQ(Hear(writer)[0], OkFor(mortal));
  RunUntilIdle();
  EXPECT_TRUE(reader->said.empty());
}

// A CLOSED would end a subscription for good, also in clients that connect again.
TEST_F(ClientEventTest, ShutdownWaitsForOksAndLeavesSubscriptionsAsTheyAre) {
  Seat& client = Connect();
  Ask(client, R"(["REQ","live",{"kinds":[7]}])");
  store_.HoldSaves(true);
  const std::string note = Note("last");
  client.Say(Publish(note));
  bool done = false;
  client.client->OnShutdown([&] { done = true; });
  const std::string late = Note("late");
  EXPECT_EQ(Ask(client, Publish(late)), NotOk(late, "error: the relay is shutting down"));
  RunUntilIdle();
  EXPECT_FALSE(done);
  client.Say(R"(["REQ","late",{}])");
  client.Say(R"(["COUNT","late",{}])");
  store_.HoldSaves(false);
  EXPECT_EQ(Hear(client)[0], OkFor(note));
  RunUntilIdle();
  EXPECT_TRUE(client->said.empty());
  EXPECT_TRUE(done);
}

TEST_F(ClientEventTest, AFloodOfGarbageIsAnsweredAndThenClosed) {
  Seat& client = Connect();
  for (int i = 0; i < 99; ++i) EXPECT_TRUE(Ask(client, "garbage").starts_with("[\"NOTICE\",\"invalid: "));
  EXPECT_TRUE(client->closed.empty());
  Ask(client, R"(["CLOSE"])");
  EXPECT_EQ(client->closed, std::vector{CloseCode::kPolicy});
}

}  // namespace
}  // namespace weir
