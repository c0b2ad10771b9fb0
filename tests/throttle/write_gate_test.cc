// Writes that the gate admits, and at what pace.
#include "throttle/write_gate.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "tests/throttle/gate_fixture.h"

namespace weir {
namespace {

TEST_F(WriteGateTest, OpenPassesEverythingAndCountsIt) {
  EXPECT_TRUE(gate_.open());
  for (int n = 0; n < 100; ++n) EXPECT_TRUE(gate_.Admit({1'000'000}, Bulk()).admitted());
  EXPECT_EQ(gate_.Admitted(WorkClass::kBulk).bytes, 100'000'000U);
  EXPECT_EQ(gate_.Stats().delayed, 0U);
}

constexpr uint64_t kTiB = uint64_t{1} << 40;  // the largest cost that is a size

// Asks as the limiter does.
bool Passes(WriteGate& gate, Party party, uint64_t bytes) {
  return gate.PassOpen({bytes}, party.work_class) || gate.Admit({bytes}, party).admitted();
}

TEST_F(WriteGateTest, OpenWithoutLimitsStaysOpen) {
  for (uint64_t bytes : {kTiB, uint64_t{1}, kTiB}) {
    for (Party party : {Interactive(), Bulk()}) EXPECT_TRUE(Passes(gate_, party, bytes));
  }
  EXPECT_TRUE(gate_.open());
}

TEST_F(WriteGateTest, ManyThreadsTogetherPassNoMoreOfAnOpenGateThanOne) {
  WriteLimits limits = Pacing();
  limits.open = true;
  for (int round = 0; round < 20; ++round) {
    gate_.SetLimits(limits);
    const double before = Passed(WorkClass::kBulk);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 16; ++t) {
      threads.emplace_back([&] {
        while (gate_.PassOpen({100}, WorkClass::kBulk)) {
        }
      });
    }
    threads.clear();
    EXPECT_LE(Passed(WorkClass::kBulk) - before, 25'000);
    EXPECT_GE(Passed(WorkClass::kBulk) - before, 20'000) << "and little of it is left unused";
  }
}

TEST_F(WriteGateTest, ANewcomerDoesNotOvertakeAWaiter) {
  Exhaust();
  Admission large = gate_.Admit({50'000}, Interactive());
  ASSERT_TRUE(large.waiting());
  clock_.Advance(milliseconds(20));  // 20 kB have come in, for which the first in line waits
  Admission small = gate_.Admit({1000}, Interactive());
  EXPECT_TRUE(small.waiting()) << "there is room for it, but others are before it";
  Run(milliseconds(31));
  EXPECT_EQ(large.Poll(), Admission::State::kAdmitted);
  Run(milliseconds(2));
  EXPECT_EQ(small.Poll(), Admission::State::kAdmitted);
}

TEST_F(WriteGateTest, AnOpenGateWithLimitsClosesAfterAQuarterOfABurst) {
  WriteLimits limits = Pacing();
  limits.open = true;
  gate_.SetLimits(limits);
  int passed = 0;
  while (passed < 1000 && Passes(gate_, Bulk(), 1000)) ++passed;
  EXPECT_EQ(passed, 25);
  EXPECT_FALSE(gate_.open());
  EXPECT_EQ(AdmittedNow(Interactive(), 1000), 100) << "interactive still has its burst";
  Admission bulk = gate_.Admit({1000}, Bulk());
  Run(seconds(1));
  EXPECT_EQ(bulk.Poll(), Admission::State::kAdmitted) << "paced, not lost";
}

TEST_F(WriteGateTest, NewLimitsGiveANewShareOfTheBurst) {
  WriteLimits limits = Pacing();
  limits.open = true;
  for (int tick = 0; tick < 100; ++tick) {
    gate_.SetLimits(limits);
    for (int n = 0; n < 25; ++n) ASSERT_TRUE(gate_.PassOpen({1000}, WorkClass::kBulk));
    ASSERT_TRUE(gate_.PassOpen({1000}, WorkClass::kInteractive)) << "each class has its own";
  }
  EXPECT_FALSE(gate_.PassOpen({1000}, WorkClass::kBulk));
  EXPECT_TRUE(gate_.open()) << "until somebody asks for more";
  gate_.SetLimits(limits);
  EXPECT_TRUE(gate_.PassOpen({1000}, WorkClass::kBulk));
}

TEST_F(WriteGateTest, ClosingGivesInteractiveItsBurstAndBulkNothing) {
  gate_.SetLimits(Pacing());
  EXPECT_FALSE(gate_.open());
  EXPECT_EQ(AdmittedNow(Interactive(), 1000), 100);
  EXPECT_EQ(AdmittedNow(Bulk(), 1000), 0);
}

TEST_F(WriteGateTest, PacesAClosedLoopAtItsRate) {
  Exhaust();
  const double before = Passed(WorkClass::kInteractive);
  for (int n = 0; n < 5000; ++n) {
    Admission admission = gate_.Admit({1000}, Interactive());
    for (int tries = 0; admission.waiting() && tries < 3; ++tries) {
      clock_.Set(admission.wait_until() + microseconds(1));
      admission.Poll();
    }
    ASSERT_TRUE(admission.admitted());
  }
  EXPECT_NEAR(Passed(WorkClass::kInteractive) - before, 5e6, 1);
  EXPECT_NEAR(ToSeconds(clock_.Now().time_since_epoch()) - 3600, 5.0, 0.1);
}

TEST_F(WriteGateTest, NoWaitHasAMinimum) {
  Exhaust();
  const Admission admission = gate_.Admit({100}, Interactive());
  ASSERT_TRUE(admission.waiting());
  EXPECT_EQ(admission.wait_until() - clock_.Now(), microseconds(100));
}

TEST_F(WriteGateTest, InteractiveOverdrawsBulkAndBulkPays) {
  gate_.SetLimits(Pacing(2 * kMillion, kMillion));
  Run(seconds(1));
  EXPECT_EQ(AdmittedNow(Interactive(), 1000), 100);
  // The bulk bucket was full and is empty now, although no bulk work passed; only the floor's own credit is left.
  EXPECT_LE(AdmittedNow(Bulk(), 1000), 51);
}

// For ten seconds interactive work comes at twice the bulk rate, and bulk asks all the time.
TEST_F(WriteGateTest, BulkKeepsItsFloorWhileInteractiveTakesEverything) {
  gate_.SetLimits(Pacing(2 * kMillion, kMillion));
  std::optional<Admission> bulk;
  double longest_gap_s = 0;
  TimePoint last_pass = clock_.Now();
  for (int tick = 0; tick < 10'000; ++tick) {
    Run(milliseconds(1));
    AdmittedNow(Interactive(), 1000);
    if (bulk) bulk->Poll();
    if (!bulk || !bulk->waiting()) {
      longest_gap_s = std::max(longest_gap_s, ToSeconds(clock_.Now() - last_pass));
      last_pass = clock_.Now();
      bulk.emplace(gate_.Admit({1000}, Bulk()));
    }
  }
  EXPECT_GE(Passed(WorkClass::kBulk), 0.9 * 0.05 * 10 * kMillion);
  EXPECT_LE(Passed(WorkClass::kBulk), 1.1 * 0.05 * 10 * kMillion + 1e5);
  EXPECT_LE(longest_gap_s, 0.1);
}

TEST_F(WriteGateTest, BulkKeepsItsFloorAfterALongBulkRunToo) {
  gate_.SetLimits(Pacing(2 * kMillion, kMillion, /*burst=*/kMillion));
  for (int tick = 0; tick < 10'000; ++tick) {
    Run(milliseconds(1));
    AdmittedNow(Bulk(), 1000);
  }
  Run(milliseconds(100));
  AdmittedNow(Interactive(), 1000);
  std::vector<Admission> waiting = Ask(100, 1000, Bulk());
  for (int tick = 0; tick < 1000; ++tick) {
    Run(milliseconds(1));
    AdmittedNow(Interactive(), 1000);
  }
  int admitted = 0;
  for (Admission& a : waiting) admitted += a.Poll() == Admission::State::kAdmitted ? 1 : 0;
  EXPECT_GE(admitted, 45) << "a second at the floor of 50 kB/s";
}

TEST_F(WriteGateTest, BulkPaysForInteractiveNotMuchLongerThanASecond) {
  // The burst is worth a hundred seconds at the bulk rate.
  gate_.SetLimits(Pacing(1e8, 1e4, /*burst=*/kMillion));
  Run(seconds(1));
  for (int n = 0; n < 10; ++n) {
    AdmittedNow(Interactive(), 1000);
    Run(milliseconds(100));
  }
  AdmittedNow(Bulk(), 100);
  const double before = Passed(WorkClass::kBulk);
  Admission big = gate_.Admit({5000}, Bulk());
  ASSERT_TRUE(big.waiting());
  Run(milliseconds(1600));
  EXPECT_EQ(big.Poll(), Admission::State::kAdmitted);
  EXPECT_EQ(Passed(WorkClass::kBulk) - before, 5000);
}

TEST_F(WriteGateTest, ABulkRequestLargerThanTheBurstIsPaidInFull) {
  gate_.SetLimits(Pacing());
  std::vector<Admission> waiting = Ask(5, 10'000'000, Bulk());
  Run(seconds(25));
  EXPECT_EQ(Passed(WorkClass::kBulk), 2e7) << "one every 10 s";
}

TEST_F(WriteGateTest, InteractiveNeverWaitsBehindBulk) {
  gate_.SetLimits(Pacing());
  std::vector<Admission> bulk;
  for (int n = 0; n < 1000; ++n) bulk.push_back(gate_.Admit({50'000}, Bulk(10 + static_cast<uint64_t>(n))));
  EXPECT_EQ(AdmittedNow(Interactive(), 1000), 100);
  Admission interactive = gate_.Admit({1000}, Interactive());
  EXPECT_LE(interactive.wait_until() - clock_.Now(), milliseconds(1));
  Run(milliseconds(1) + microseconds(2));
  EXPECT_EQ(interactive.Poll(), Admission::State::kAdmitted);
}

TEST_F(WriteGateTest, AFlooderWaitsBehindItself) {
  gate_.SetLimits(Pacing(kMillion, kMillion, 1e4));
  std::vector<Admission> flood = Ask(200, 4096, Interactive(1));
  Admission other = gate_.Admit({4096}, Interactive(2));
  ASSERT_TRUE(other.waiting());
  Run(milliseconds(20));
  EXPECT_EQ(other.Poll(), Admission::State::kAdmitted);
  EXPECT_TRUE(flood.back().waiting());
}

TEST_F(WriteGateTest, OpeningGrantsAllThatWait) {
  gate_.SetLimits(Pacing(kMillion, 1e4));
  std::vector<Admission> waiting;
  for (int n = 0; n < 50; ++n) waiting.push_back(gate_.Admit({1000}, Bulk(static_cast<uint64_t>(n))));
  gate_.SetLimits({});
  for (Admission& admission : waiting) EXPECT_EQ(admission.Poll(), Admission::State::kAdmitted);
  EXPECT_EQ(gate_.Stats().waiting, 0U);
}

TEST_F(WriteGateTest, AHigherRateWakesAWaiter) {
  Exhaust(Pacing(1000));
  Admission admission = gate_.Admit({500}, Interactive());
  ASSERT_TRUE(admission.waiting());
  wakes_.clear();
  gate_.SetLimits(Pacing(kMillion));
  ASSERT_FALSE(wakes_.empty());
  EXPECT_LE(wakes_.back() - clock_.Now(), milliseconds(1));
}

TEST_F(WriteGateTest, WakesOnlyForAnEarlierTurn) {
  Exhaust();
  std::vector<Admission> waiting = Ask(100, 1000, Interactive());
  EXPECT_EQ(wakes_.size(), 1U);
}

TEST_F(WriteGateTest, GrantsInAsManyPumpsAsThereAreTurns) {
  Exhaust();
  std::vector<Admission> waiting = Ask(500, 1000, Interactive());
  Run(seconds(1));
  for (Admission& a : waiting) EXPECT_EQ(a.Poll(), Admission::State::kAdmitted);
  EXPECT_LE(pumps_, 510);
}

TEST_F(WriteGateTest, AClockThatLeapsGrantsNoMoreThanABurst) {
  Exhaust();
  clock_.Advance(hours(24));
  EXPECT_EQ(AdmittedNow(Interactive(), 1000), 100);
}

TEST_F(WriteGateTest, AClockThatStepsBackDoesNotStopTheRefill) {
  Exhaust();
  clock_.Advance(-seconds(1800));
  EXPECT_EQ(AdmittedNow(Interactive(), 1000), 0);
  Admission admission = gate_.Admit({1000}, Interactive());
  Run(milliseconds(10));
  EXPECT_EQ(admission.Poll(), Admission::State::kAdmitted);
  EXPECT_GE(admission.waited(), Duration::zero());
}

TEST_F(WriteGateTest, AClockThatStepsBackMakesNoWaitNegative) {
  Exhaust();
  Admission granted = gate_.Admit({1000}, Interactive());
  {
    const Admission cancelled = gate_.Admit({1000}, Interactive());
    clock_.Advance(-seconds(1800));
  }
  gate_.SetLimits({});
  EXPECT_EQ(granted.Poll(), Admission::State::kAdmitted);
  EXPECT_EQ(granted.waited(), Duration::zero());
  EXPECT_GE(gate_.Stats().waited, Duration::zero());
}

TEST_F(WriteGateTest, CostsOfAnySizeAreServedInTurn) {
  gate_.SetLimits(Pacing(1e15, 1e15, 1e15));
  AdmittedNow(Interactive(), uint64_t{1} << 50);
  std::vector<Admission> waiting;
  for (uint64_t party = 0; party < 3; ++party) {
    for (uint64_t bytes : {kTiB, uint64_t{0}, kTiB - 1, kTiB / 2}) {
      waiting.push_back(gate_.Admit({bytes}, Interactive(party)));
    }
  }
  Run(seconds(1));
  for (Admission& admission : waiting) EXPECT_EQ(admission.Poll(), Admission::State::kAdmitted);
}

TEST_F(WriteGateTest, OnlyTheClassThatWaitedIsPressed) {
  gate_.SetLimits(Pacing());
  AdmittedNow(Interactive(), 1000);
  EXPECT_TRUE(gate_.TakePressed(WorkClass::kInteractive));
  EXPECT_FALSE(gate_.TakePressed(WorkClass::kBulk));
  EXPECT_FALSE(gate_.TakePressed(WorkClass::kInteractive)) << "asked for, so forgotten";
  const Admission waiting = gate_.Admit({1000}, Bulk());
  EXPECT_TRUE(gate_.TakePressed(WorkClass::kBulk));
  EXPECT_TRUE(gate_.TakePressed(WorkClass::kBulk)) << "still waiting";
}

TEST_F(WriteGateTest, ManyPartiesGetTheSameAggregateAsOne) {
  std::vector<double> passed;
  for (uint64_t parties : {1, 1000}) {
    ManualClock clock(TimePoint{hours(1)});
    WriteGate gate(clock, [](TimePoint) {});
    gate.SetLimits(Pacing());
    std::vector<Admission> waiting;
    for (uint64_t n = 0; n < 2000; ++n) waiting.push_back(gate.Admit({10'000}, Bulk(n % parties)));
    for (int tick = 0; tick < 10'000; ++tick) {
      clock.Advance(milliseconds(1));
      gate.Pump();
    }
    passed.push_back(static_cast<double>(gate.Admitted(WorkClass::kBulk).bytes));
  }
  EXPECT_NEAR(passed[0], passed[1], 20'000);
  EXPECT_NEAR(passed[0], 1e7, 20'000);
}

}  // namespace
}  // namespace weir
