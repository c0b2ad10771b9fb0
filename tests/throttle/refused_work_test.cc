// Work that goes on although it was refused: it is charged, and others wait for it.
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/throttle/gate_fixture.h"
#include "tests/throttle/limiter_fixture.h"

namespace weir {
namespace {

using State = Admission::State;
using RefusedWorkTest = WriteGateTest;

// The limit is 1 MB/s. The longest wait of interactive work is one second, that of bulk work a minute.
TEST_F(RefusedWorkTest, OthersWaitForItAtMostForHalfOfTheirLongestWait) {
  struct Case {
    Party party;
    uint64_t bytes;
    double seconds;
  };
  for (const Case& c : {Case{Interactive(1), 300'000, 0.3}, Case{Interactive(1), 1 << 30, 0.5},
                        Case{Bulk(1), 10'000'000, 10}, Case{Bulk(1), 1 << 30, 30}}) {
    const Party other{.id = 9, .work_class = c.party.work_class};
    gate_.SetLimits(Pacing());
    Run(std::chrono::minutes(2));
    AdmittedNow(c.party, 1000);
    gate_.AdmitAnyway({c.bytes}, c.party.work_class);
    Admission next = gate_.Admit({1000}, other);
    ASSERT_TRUE(next.waiting()) << c.bytes << ": not refused";
    Run(FromSeconds(c.seconds - 0.01));
    EXPECT_EQ(next.Poll(), State::kWaiting) << c.bytes;
    Run(milliseconds(20));
    EXPECT_EQ(next.Poll(), State::kAdmitted) << c.bytes;
  }
}

// The limit may fall to a twentieth of the drain within a few ticks.
TEST_F(RefusedWorkTest, ALowerLimitMakesNoDebtLonger) {
  for (const WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    gate_.SetLimits(Pacing());
    Run(std::chrono::minutes(2));
    gate_.AdmitAnyway({1 << 30}, c);
    gate_.SetLimits(Pacing(5e4, 5e4));
    Admission next = gate_.Admit({1000}, {.id = 9, .work_class = c});
    ASSERT_TRUE(next.waiting()) << "refused, it could try again in " << ToSeconds(next.retry_after()) << " s";
    Run(c == WorkClass::kBulk ? FromSeconds(30.4) : FromSeconds(0.6));
    EXPECT_EQ(next.Poll(), State::kAdmitted);
  }
}

TEST_F(RefusedWorkTest, ADebtMakesNoOtherWriteTooLarge) {
  for (const Party& party : {Interactive(9), Bulk(9)}) {
    gate_.SetLimits(Pacing());
    Run(std::chrono::minutes(2));
    const auto most = static_cast<uint64_t>(party.work_class == WorkClass::kBulk ? 60e6 : 1e6);
    gate_.AdmitAnyway({1 << 30}, party.work_class);
    const Admission fits = gate_.Admit({most * 9 / 10}, party);
    ASSERT_TRUE(fits.refused());
    EXPECT_FALSE(fits.too_large()) << fits.reason();
    EXPECT_TRUE(gate_.Admit({most * 3 / 2}, party).too_large());
    Run(fits.retry_after());
    EXPECT_FALSE(gate_.Admit({most * 9 / 10}, party).refused()) << "the debt is paid";
  }
}

TEST_F(RefusedWorkTest, TheSumOfAllWorkKeepsTheLimit) {
  for (const WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    gate_.SetLimits(Pacing());
    const double before = Passed(c);
    const TimePoint since = clock_.Now();
    for (int n = 0; n < 200; ++n) {
      gate_.AdmitAnyway({40'000}, c);  // 400 kB/s
      for (int writes = 0; writes < 100; ++writes) (void)gate_.Admit({1000}, {.id = 9, .work_class = c});
      Run(milliseconds(100));
    }
    const double most = 1e6 * ToSeconds(clock_.Now() - since) + 2e5;  // and the bursts of two buckets
    EXPECT_LE(Passed(c) - before, most);
    EXPECT_GE(Passed(c) - before, 0.8 * most) << "others get the rest";
  }
}

TEST_F(RefusedWorkTest, BulkWorkWaitsForWhatInteractiveWorkTookPastItsLimit) {
  gate_.SetLimits(Pacing(10e6, 1e6));
  Run(seconds(1));
  AdmittedNow(Bulk(), 1000);
  gate_.AdmitAnyway({700'000}, WorkClass::kInteractive);
  Admission bulk = gate_.Admit({50'000}, Bulk());
  Run(milliseconds(500));
  EXPECT_EQ(bulk.Poll(), State::kWaiting);
  Run(milliseconds(300));
  EXPECT_EQ(bulk.Poll(), State::kAdmitted);
}

TEST_F(RefusedWorkTest, AnOpenGateOwesNothing) {
  WriteLimits open = Pacing();
  open.open = true;
  gate_.SetLimits(open);
  gate_.AdmitAnyway({1 << 30}, WorkClass::kInteractive);
  gate_.SetLimits(Pacing());
  EXPECT_TRUE(gate_.Admit({50'000}, Interactive()).admitted());
}

TEST_F(LimiterTest, MaybeThrottleChargesWhatItLetsPass) {
  LimiterSettings settings;
  settings.write.min_batch = 1;
  settings.write.max_delay = milliseconds(1);
  AdaptiveLimiter& limiter = Build(settings);
  Say(0.85);
  Tick();
  ASSERT_TRUE(Write(1000).admitted());
  EXPECT_EQ(limiter.MaybeThrottle(Operation::kWrite, {50'000'000}), milliseconds(1)) << "refused, and it passes";
  EXPECT_FALSE(Write(1000).admitted()) << "others wait for it";
}

TEST_F(LimiterTest, ChargeCountsWithoutAWait) {
  AdaptiveLimiter& limiter = Build();
  limiter.Charge(Operation::kWrite, {1000});
  Say(0.85);
  Tick();
  limiter.Charge(Operation::kWrite, {100'000'000}, WorkClass::kBulk);
  EXPECT_EQ(limiter.Stats(Operation::kWrite).admitted[0].bytes, 1000u);
  EXPECT_EQ(limiter.Stats(Operation::kWrite).admitted[1].bytes, 100'000'000u);
  EXPECT_EQ(limiter.Stats(Operation::kWrite).delayed, 0u);
  EXPECT_TRUE(Write(1000, WorkClass::kBulk).waiting());
}

}  // namespace
}  // namespace weir
