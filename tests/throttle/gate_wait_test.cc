// How waits end: by a turn, a refusal, a cancellation, or the end of another caller's permit.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/throttle/gate_fixture.h"

namespace weir {
namespace {

using State = Admission::State;

TEST_F(GateWaitTest, IsRefusedAtOnceWhenTheTurnCannotComeInTime) {
  Exhaust();
  std::vector<Admission> waiting = Ask(100, 10'000, Interactive());
  const Admission late = gate_.Admit({10'000}, Interactive());
  ASSERT_TRUE(late.refused());
  EXPECT_EQ(late.reason(), "l0");
  EXPECT_NEAR(ToSeconds(late.retry_after()), 1.01, 0.001);
  EXPECT_TRUE(gate_.TakePressed(WorkClass::kInteractive));
  EXPECT_EQ(gate_.Stats().refused.at("l0"), 1U);
}

TEST_F(GateWaitTest, TheLongestWaitEndsInARefusalWithReasonAndTime) {
  Exhaust();
  std::vector<Admission> waiting = Ask(90, 10'000, Interactive());
  WriteLimits slower = Pacing(1e5);
  slower[WorkClass::kInteractive].reason = "memtables";
  gate_.SetLimits(slower);
  Run(seconds(1));
  EXPECT_EQ(waiting.front().Poll(), State::kAdmitted);
  Admission& last = waiting.back();
  ASSERT_EQ(last.Poll(), State::kRefused);
  EXPECT_EQ(last.reason(), "memtables") << "what limits when the wait ends";
  EXPECT_GT(last.retry_after(), Duration::zero());
  EXPECT_EQ(last.waited(), seconds(1));
}

TEST_F(GateWaitTest, TheTurnThatComesWithTheDeadlineIsStillGranted) {
  Exhaust();
  Admission admission = gate_.Admit({100'000}, Interactive());
  ASSERT_TRUE(admission.waiting());
  clock_.Advance(seconds(5));
  EXPECT_EQ(admission.Poll(), State::kAdmitted);
}

TEST_F(GateWaitTest, AtNoRateIsRefusedAtOnceWithALongTime) {
  Exhaust(Pacing(0, 0));
  const Admission admission = gate_.Admit({1000}, Interactive());
  ASSERT_TRUE(admission.refused());
  EXPECT_EQ(admission.retry_after(), hours(1));
  EXPECT_TRUE(gate_.Admit({1000}, Bulk()).refused());
}

TEST_F(GateWaitTest, DestroyingAWaiterCancelsItAndHandsTheTurnOn) {
  Exhaust();
  auto first = std::make_unique<Admission>(gate_.Admit({100'000}, Interactive()));
  Admission second = gate_.Admit({1000}, Interactive());
  first.reset();
  EXPECT_EQ(gate_.Stats().cancelled, 2U) << "and one that Exhaust did not wait for";
  EXPECT_EQ(gate_.Stats().waiting, 1U);
  Run(milliseconds(2));
  EXPECT_EQ(second.Poll(), State::kAdmitted) << "a millisecond, not a hundred";
}

TEST_F(GateWaitTest, CancelEndsTheWaitAndSaysSo) {
  Exhaust();
  Admission admission = gate_.Admit({1000}, Interactive());
  int calls = 0;
  admission.OnSettled([&] { ++calls; });
  EXPECT_TRUE(admission.Cancel());
  EXPECT_TRUE(admission.refused());
  EXPECT_EQ(admission.reason(), "cancelled");
  EXPECT_EQ(gate_.Stats().waiting, 0U);
  Run(seconds(1));
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(admission.Cancel());
}

TEST_F(GateWaitTest, ALateCallbackIsStillDueAtItsTurn) {
  Exhaust();
  const TimePoint turn = clock_.Now() + milliseconds(4);
  Admission admission = gate_.Admit({4000}, Interactive());
  ASSERT_TRUE(admission.waiting());
  clock_.Advance(milliseconds(3));
  admission.OnSettled([] {});
  EXPECT_LE(wakes_.back(), turn + microseconds(2));
  clock_.Set(wakes_.back());
  gate_.Pump();
  EXPECT_EQ(admission.Poll(), State::kAdmitted);
}

// The clock is the machine's, and no thread calls Pump for a turn.
class UnpumpedGateTest : public testing::Test {
 protected:
  // Returns once a thread waits for the request whose turn comes then. Until then, Pump asks for a call at that time.
  void AwaitThread(TimePoint turn) {
    while (gate_.Pump() < turn + milliseconds(1)) std::this_thread::yield();
  }

  WriteGate gate_{Clock::System(), [](TimePoint) {}};
};

TEST_F(UnpumpedGateTest, ThreadsThatWaitTakeTheirTurnsByThemselves) {
  gate_.SetLimits(Pacing());
  std::vector<std::thread> threads;
  for (uint64_t id = 1; id <= 8; ++id) {
    threads.emplace_back([this, id] {
      for (int n = 0; n < 5; ++n) EXPECT_EQ(gate_.Admit({1000 * id}, Bulk(id)).Wait(), State::kAdmitted);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gate_.Admitted(WorkClass::kBulk).bytes, 5U * 36'000);
}

TEST_F(UnpumpedGateTest, ALargeRequestPaysItsPiecesByItself) {
  gate_.SetLimits(Pacing());
  EXPECT_EQ(gate_.Admit({300'000}, Bulk()).Wait(), State::kAdmitted) << "three bursts";
}

TEST_F(UnpumpedGateTest, AWaitEndsAtItsDeadline) {
  WriteLimits limits = Pacing();
  limits[WorkClass::kBulk].hold = true;
  limits[WorkClass::kBulk].longest_wait = milliseconds(2);
  gate_.SetLimits(limits);
  Admission admission = gate_.Admit({1000}, Bulk());
  ASSERT_TRUE(admission.waiting());
  EXPECT_EQ(admission.Wait(), State::kRefused);
}

TEST_F(UnpumpedGateTest, AHigherRateShortensAWait) {
  gate_.SetLimits(Pacing(kMillion, 80));
  Admission slow = gate_.Admit({4000}, Bulk(1));  // one piece
  ASSERT_TRUE(slow.waiting());
  const TimePoint turn = slow.wait_until();  // in 50 s
  std::thread thread([&] { EXPECT_EQ(slow.Wait(), State::kAdmitted); });
  AwaitThread(turn);
  gate_.SetLimits(Pacing());
  thread.join();
  EXPECT_LT(slow.waited(), seconds(40));
}

TEST_F(UnpumpedGateTest, TheEndOfAnEarlierRequestShortensAWait) {
  gate_.SetLimits(Pacing(kMillion, 1000));
  auto first = std::make_unique<Admission>(gate_.Admit({50'000}, Bulk(1)));
  Admission second = gate_.Admit({100}, Bulk(1));
  ASSERT_TRUE(second.waiting());
  std::thread thread([&] { EXPECT_EQ(second.Wait(), State::kAdmitted); });
  std::this_thread::sleep_for(milliseconds(20));  // usually, the thread sleeps then
  first.reset();
  thread.join();
  EXPECT_LT(second.waited(), seconds(40));
}

// The thread may hold a lock that the functions need.
TEST_F(GateWaitTest, WaitCallsNoFunctionsOfOtherRequests) {
  Exhaust();
  Admission first = gate_.Admit({4000}, Interactive());
  Admission second = gate_.Admit({1000}, Interactive());
  ASSERT_TRUE(second.waiting());
  bool called = false;
  second.OnSettled([&] { called = true; });
  std::thread thread([&] { EXPECT_EQ(first.Wait(), State::kAdmitted); });
  while (gate_.Pump() != clock_.Now() + seconds(1)) std::this_thread::yield();
  clock_.Advance(milliseconds(10));  // both turns have come
  thread.join();
  EXPECT_FALSE(called);
  EXPECT_EQ(wakes_.back(), clock_.Now()) << "asks for the call of Pump that calls it";
  gate_.Pump();
  EXPECT_TRUE(called);
}

TEST_F(GateWaitTest, NeedsNoPumpForARequestWhoseThreadWaits) {
  Exhaust();
  Admission admission = gate_.Admit({100'000}, Bulk());
  ASSERT_TRUE(admission.waiting());
  const TimePoint deadline = clock_.Now() + seconds(60);
  EXPECT_LT(gate_.Pump(), deadline);
  std::thread thread([&] { EXPECT_EQ(admission.Wait(), State::kAdmitted); });
  while (gate_.Pump() != deadline) std::this_thread::yield();
  clock_.Advance(seconds(1));
  gate_.Pump();
  thread.join();
}

TEST_F(GateWaitTest, MovingAWaiterMovesItsPlace) {
  Exhaust();
  Admission first = gate_.Admit({1000}, Interactive());
  Admission second(std::move(first));
  EXPECT_TRUE(second.waiting());
  Run(milliseconds(2));
  EXPECT_EQ(second.Poll(), State::kAdmitted);
}

TEST_F(GateWaitTest, HeldWorkWaitsAndIsAdmittedAfterwards) {
  WriteLimits limits = Pacing(kInfinity, kInfinity);
  limits[WorkClass::kBulk].hold = true;
  limits[WorkClass::kBulk].reason = "emergency";
  gate_.SetLimits(limits);
  Admission bulk = gate_.Admit({0}, Bulk());
  ASSERT_TRUE(bulk.waiting());
  EXPECT_EQ(bulk.reason(), "emergency");
  EXPECT_EQ(bulk.wait_until(), clock_.Now() + seconds(60));
  EXPECT_TRUE(gate_.Admit({1'000'000}, Interactive()).admitted());
  Run(seconds(30));
  EXPECT_EQ(bulk.Poll(), State::kWaiting);
  limits[WorkClass::kBulk].hold = false;
  gate_.SetLimits(limits);
  EXPECT_EQ(bulk.Poll(), State::kAdmitted);
}

TEST_F(GateWaitTest, AHoldThatLastsEndsInARefusalWithATimeToComeBack) {
  WriteLimits limits = Pacing(kInfinity, kInfinity);
  limits[WorkClass::kBulk].hold = true;
  gate_.SetLimits(limits);
  Admission bulk = gate_.Admit({1000}, Bulk());
  Run(seconds(60));
  ASSERT_EQ(bulk.Poll(), State::kRefused);
  EXPECT_GT(bulk.retry_after(), Duration::zero());
}

TEST_F(GateWaitTest, RefuseAllEndsEveryWait) {
  Exhaust();
  std::vector<Admission> waiting;
  for (uint64_t n = 0; n < 20; ++n) waiting.push_back(gate_.Admit({1000}, n % 2 == 0 ? Interactive(n) : Bulk(n)));
  gate_.RefuseAll("stopped");
  for (Admission& admission : waiting) {
    EXPECT_EQ(admission.Poll(), State::kRefused);
    EXPECT_EQ(admission.reason(), "stopped");
  }
  EXPECT_EQ(gate_.Pump(), TimePoint::max());
}

TEST_F(GateWaitTest, TheQueueIsBounded) {
  WriteLimits limits = Pacing(1e12, 1e12, 1024);
  gate_.SetLimits(limits);
  ASSERT_TRUE(gate_.Admit({1024}, Interactive()).admitted());
  std::vector<Admission> waiting;
  for (uint64_t n = 0; n < 10'000; ++n) {
    waiting.push_back(gate_.Admit({1}, Interactive(n)));
    ASSERT_TRUE(waiting.back().waiting());
  }
  const Admission refused = gate_.Admit({1}, Interactive());
  ASSERT_TRUE(refused.refused());
  EXPECT_EQ(refused.reason(), "queue full");
  EXPECT_EQ(refused.retry_after(), seconds(1));
  AdmittedNow(Bulk(), 1);
  EXPECT_TRUE(gate_.Admit({1}, Bulk()).waiting()) << "each class has its own";
}

TEST_F(GateWaitTest, WaitReturnsFromItsThreadWhenTheTurnComes) {
  Exhaust();
  Admission admission = gate_.Admit({1000}, Interactive());
  std::jthread waiter([&] { EXPECT_EQ(admission.Wait(), State::kAdmitted); });
  Run(milliseconds(2));
}

TEST_F(GateWaitTest, StatsCountAdmissionsDelaysAndWaits) {
  Exhaust();
  Admission granted = gate_.Admit({1000}, Interactive());
  Run(milliseconds(2));
  granted.Poll();
  const GateStats stats = gate_.Stats();
  EXPECT_EQ(stats.delayed, 2U);
  EXPECT_EQ(stats.admitted[0].operations, 101U);
  EXPECT_GE(stats.waited, milliseconds(1));
  EXPECT_EQ(stats.waiting, 0U);
}

TEST_F(GateWaitTest, StatsTellTheClassesApart) {
  Exhaust();
  Admission granted = gate_.Admit({1000}, Interactive());
  Admission cancelled = gate_.Admit({1000}, Bulk());
  clock_.Advance(microseconds(500));
  cancelled.Cancel();
  gate_.RefuseAll("stopped");
  const GateStats stats = gate_.Stats();
  const GateStats::Waits& bulk = stats.waits[WorkClass::kBulk];
  EXPECT_EQ(bulk.ended, 1U);
  EXPECT_EQ(bulk.time, microseconds(500));
  EXPECT_EQ(bulk.refused, 0U);
  const GateStats::Waits& interactive = stats.waits[WorkClass::kInteractive];
  EXPECT_EQ(interactive.refused, 1U);
  EXPECT_EQ(interactive.time + bulk.time, stats.waited);
}

}  // namespace
}  // namespace weir
