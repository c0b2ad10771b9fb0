// Large writes beside small ones: each pays for itself, in pieces, and delays no other party by more than a piece.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/throttle/gate_fixture.h"

namespace weir {
namespace {

using State = Admission::State;

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kGiB = 1 << 30;
constexpr uint64_t kTiB = uint64_t{1} << 40;
constexpr double kRate = 14e6;

class LargeWriteTest : public WriteGateTest {
 protected:
  // Returns limits as of an engine with a write buffer of 4 MiB.
  static WriteLimits Limits(Duration longest_wait = seconds(1)) {
    WriteLimits limits = Pacing(kRate, kRate, 2 * kMiB);
    limits[WorkClass::kInteractive].longest_wait = longest_wait;
    return limits;
  }
  static bool Says(const Admission& admission, std::string_view text) {
    return std::string(admission.reason()).find(text) != std::string::npos;
  }
};

TEST_F(LargeWriteTest, OthersPassBetweenThePiecesOfALargeOne) {
  for (const uint64_t bytes : {64 * kMiB, kGiB}) {
    gate_.SetLimits(Limits(hours(1)));
    Admission large = gate_.Admit({bytes}, Interactive(1));
    ASSERT_TRUE(large.waiting());
    for (int n = 0; n < 100; ++n) {
      Run(milliseconds(7));
      Admission small = gate_.Admit({1024}, Interactive(2));
      Run(milliseconds(6));
      ASSERT_EQ(small.Poll(), State::kAdmitted) << n;
      EXPECT_LE(small.waited(), microseconds(5100));
    }
    EXPECT_TRUE(large.waiting());
    Run(FromSeconds(static_cast<double>(bytes) / kRate));
    EXPECT_EQ(large.Poll(), State::kAdmitted) << "it has paid all";
  }
}

TEST_F(LargeWriteTest, IsAdmittedWhenItHasPaidAndLeavesNoDebt) {
  gate_.SetLimits(Limits(hours(1)));
  Admission large = gate_.Admit({16 * kMiB}, Interactive(1));
  Run(FromSeconds(14.0 * kMiB / kRate - 0.001));
  EXPECT_EQ(large.Poll(), State::kWaiting) << "a burst at once, then the rest at the limit";
  Run(milliseconds(2));
  ASSERT_EQ(large.Poll(), State::kAdmitted);
  EXPECT_TRUE(gate_.Admit({1024}, Interactive(2)).admitted());
}

// A party that asks all the time and one with a large request get equal shares, and neither waits for the other's whole
// request.
TEST_F(LargeWriteTest, ALargeRequestAndAFloodShareTheLimit) {
  gate_.SetLimits(Limits(hours(1)));
  AdmittedNow(Interactive(), 1024);
  std::vector<Admission> flood = Ask(9000, 10'000, Interactive(2));
  Admission large = gate_.Admit({28'000'000}, Interactive(1));
  double before = Passed(WorkClass::kInteractive);
  for (int n = 0; n < 700 && large.Poll() == State::kWaiting; ++n) {
    Run(milliseconds(10));
    const double passed = Passed(WorkClass::kInteractive);
    EXPECT_GE(passed - std::exchange(before, passed), 50'000) << "the flood gets half of the limit at any time";
  }
  EXPECT_NEAR(ToSeconds(large.waited()), 6, 0.1) << "as many bytes for the other, then half of the limit";
}

TEST_F(LargeWriteTest, WhatAnAbandonedOneHasPaidHelpsTheNext) {
  gate_.SetLimits(Limits(hours(1)));
  AdmittedNow(Interactive(), 1024);
  auto first = std::make_unique<Admission>(gate_.Admit({14'000'000}, Interactive(1)));
  Run(milliseconds(500));
  Admission second = gate_.Admit({14'000'000}, Interactive(2));
  first.reset();
  Run(milliseconds(510));
  EXPECT_EQ(second.Poll(), State::kAdmitted) << "in half a second, because half was paid";
}

TEST_F(LargeWriteTest, WhatAnAbandonedOneHasPaidGoesBackIntoTheBucketIfNobodyNeedsIt) {
  gate_.SetLimits(Limits());
  AdmittedNow(Interactive(), 1024);
  auto large = std::make_unique<Admission>(gate_.Admit({14'000'000}, Interactive(1)));
  Run(milliseconds(100));
  Admission small = gate_.Admit({1024}, Interactive(2));
  ASSERT_TRUE(small.waiting());
  large.reset();
  EXPECT_EQ(small.Poll(), State::kAdmitted) << "from what the large one has paid";
  const int more = AdmittedNow(Interactive(3), 1024);
  EXPECT_NEAR(more * 1024, 1'400'000, 2100) << "what the limit has admitted in 100 ms";
  EXPECT_LE(Passed(WorkClass::kInteractive), 2 * kMiB + 1'400'000);
}

TEST_F(LargeWriteTest, ABulkOneAlsoGetsBackAtMostABurst) {
  gate_.SetLimits(Limits());
  AdmittedNow(Bulk(), 1024);
  auto large = std::make_unique<Admission>(gate_.Admit({140'000'000}, Bulk()));
  Run(seconds(1));
  large.reset();
  EXPECT_NEAR(AdmittedNow(Bulk(), 1024), 2048, 2);
}

// Others wait for the rest of a large write that has paid nearly all, not for its size.
TEST_F(LargeWriteTest, AWaitIsForetoldByWhatOthersHaveStillToPay) {
  for (const uint64_t party : {1, 2}) {
    gate_.SetLimits({});
    gate_.SetLimits(Limits());
    AdmittedNow(Interactive(), 1024);
    Admission large = gate_.Admit({13'000'000}, Interactive(1));
    Run(milliseconds(900));
    Admission next = gate_.Admit({7'000'000}, Interactive(party));
    ASSERT_TRUE(next.waiting()) << party;
    EXPECT_NEAR(ToSeconds(next.wait_until() - clock_.Now()), 0.53, 0.01);
    Run(milliseconds(540));
    EXPECT_EQ(large.Poll(), State::kAdmitted);
    EXPECT_EQ(next.Poll(), State::kAdmitted);
  }
}

TEST_F(LargeWriteTest, WhatAnExpiredOneHasPaidHelpsOneThatWouldExpireWithIt) {
  gate_.SetLimits(Limits());
  AdmittedNow(Interactive(), 1024);
  Admission first = gate_.Admit({12'000'000}, Interactive(1));
  ASSERT_TRUE(first.waiting());
  clock_.Advance(microseconds(1));
  Admission second = gate_.Admit({100'000}, Interactive(1));
  gate_.SetLimits(Pacing(kRate / 2, kRate, 2 * kMiB));
  Run(milliseconds(900));
  clock_.Advance(milliseconds(200));
  gate_.Pump();
  EXPECT_EQ(first.Poll(), State::kRefused);
  EXPECT_EQ(second.Poll(), State::kAdmitted);
}

TEST_F(LargeWriteTest, OneThatClosesAnOpenGatePassesAtOnceAndOwesOthersNothing) {
  for (const uint64_t bytes : {64 * kMiB, kGiB, kTiB}) {
    gate_.SetLimits({});
    WriteLimits limits = Limits();
    limits.open = true;
    gate_.SetLimits(limits);
    EXPECT_TRUE(gate_.Admit({bytes}, Interactive(1)).admitted());
    ASSERT_FALSE(gate_.open());
    Admission small = gate_.Admit({1024}, Interactive(2));
    EXPECT_LE(small.wait_until() - clock_.Now(), microseconds(74));
    Run(microseconds(76));
    EXPECT_EQ(small.Poll(), State::kAdmitted);
    Admission bulk = gate_.Admit({1024}, Bulk());
    EXPECT_LE(bulk.wait_until() - clock_.Now(), milliseconds(1001)) << "bulk work pays as for any interactive work";
  }
}

TEST_F(LargeWriteTest, OneThatCannotBePaidInTimeIsToldSoWithItsSize) {
  gate_.SetLimits(Limits());
  const Admission large = gate_.Admit({100 * kMiB}, Interactive());
  ASSERT_TRUE(large.refused());
  EXPECT_EQ(large.reason(),
            "a write of at least 64 MiB takes longer than the longest wait: split it, or declare it as bulk work");
  EXPECT_TRUE(large.too_large());
  EXPECT_NEAR(ToSeconds(large.retry_after()), 98.0 * kMiB / kRate, 0.001);
  const Admission bulk = gate_.Admit({2 * kGiB}, Bulk());
  ASSERT_TRUE(bulk.refused());
  EXPECT_EQ(bulk.reason(), "a write of at least 2 GiB takes longer than the longest wait: split it");
  EXPECT_EQ(gate_.Stats().refused.at("too large"), 2U);
}

TEST_F(LargeWriteTest, TheLargestThatCanBePaidInTimeWaits) {
  const auto largest = static_cast<uint64_t>(kRate) + 2 * kMiB;  // a burst, then a second at the limit
  gate_.SetLimits(Limits());
  EXPECT_TRUE(gate_.Admit({largest + 1}, Interactive()).refused());
  Admission admission = gate_.Admit({largest - 1000}, Interactive());
  ASSERT_TRUE(admission.waiting());
  Run(seconds(1));
  EXPECT_EQ(admission.Poll(), State::kAdmitted);
}

TEST_F(LargeWriteTest, OneThatOnlyOthersDelayIsToldWhatLimits) {
  gate_.SetLimits(Limits());
  std::vector<Admission> waiting = Ask(8, 2 * kMiB, Interactive(1));
  const Admission late = gate_.Admit({2 * kMiB}, Interactive(1));
  ASSERT_TRUE(late.refused());
  EXPECT_EQ(late.reason(), "l0");
  EXPECT_FALSE(late.too_large()) << "it may try again";
}

TEST_F(LargeWriteTest, ACostThatIsNoSizeIsRefusedAndCountsNothing) {
  WriteLimits open = Limits();
  open.open = true;
  for (const WriteLimits& limits : {WriteLimits(), open, Limits()}) {
    gate_.SetLimits(limits);
    for (const uint64_t bytes : {kTiB + 1, UINT64_MAX}) {
      for (const Party& party : {Interactive(), Bulk()}) {
        EXPECT_FALSE(gate_.PassOpen({bytes}, party.work_class));
        const Admission admission = gate_.Admit({bytes}, party);
        ASSERT_TRUE(admission.refused());
        EXPECT_TRUE(Says(admission, "more than 1 TiB"));
        EXPECT_EQ(admission.retry_after(), Duration::zero());
        EXPECT_TRUE(admission.too_large());
        gate_.AdmitAnyway({bytes}, party.work_class);
      }
    }
    EXPECT_TRUE(gate_.Admit({1024}, Interactive()).admitted()) << "the class is not shut";
  }
  EXPECT_EQ(Passed(WorkClass::kInteractive) + Passed(WorkClass::kBulk), 3 * 1024);
}

TEST_F(LargeWriteTest, AtItsLowestLimitABatchWaitsIfTheMeanIsEnough) {
  WriteLimits limits = Limits();
  limits[WorkClass::kBulk].bytes_per_second = 160e3;
  limits[WorkClass::kBulk].mean_bytes_per_second = 3.2e6;
  gate_.SetLimits(limits);
  std::vector<Admission> batches;
  for (uint64_t party = 1; party <= 4; ++party) batches.push_back(gate_.Admit({10'000'000}, Bulk(party)));
  for (const Admission& batch : batches) EXPECT_TRUE(batch.waiting());
  EXPECT_TRUE(gate_.Admit({200'000'000}, Bulk(5)).refused()) << "too long even at the mean";
  Run(seconds(5));
  limits[WorkClass::kBulk].bytes_per_second = 3.2e6;
  gate_.SetLimits(limits);
  Run(seconds(13));
  for (Admission& batch : batches) EXPECT_EQ(batch.Poll(), State::kAdmitted);
}

TEST_F(LargeWriteTest, WhileTheMeanIsUnknownAWriteWaitsUntilItsDeadline) {
  WriteLimits limits = Limits();
  limits[WorkClass::kInteractive].mean_bytes_per_second = kInfinity;
  gate_.SetLimits(limits);
  Admission large = gate_.Admit({64 * kMiB}, Interactive());
  ASSERT_TRUE(large.waiting());
  EXPECT_EQ(large.wait_until(), clock_.Now() + seconds(1));
  Run(seconds(1));
  ASSERT_EQ(large.Poll(), State::kRefused);
  EXPECT_EQ(large.reason(), "l0");
}

TEST_F(LargeWriteTest, ABurstThatShrinksLeavesNoWaiterBehind) {
  gate_.SetLimits(Limits());
  Admission bulk = gate_.Admit({600'000}, Bulk());
  ASSERT_TRUE(bulk.waiting());
  gate_.SetLimits(Pacing(kRate, kRate, 2000));
  Run(milliseconds(50));
  EXPECT_EQ(bulk.Poll(), State::kAdmitted);
}

TEST_F(LargeWriteTest, PaysInNoMorePumpsThanItHasPieces) {
  gate_.SetLimits(Limits());
  Admission bulk = gate_.Admit({140'000'000}, Bulk());
  Run(seconds(11));
  EXPECT_EQ(bulk.Poll(), State::kAdmitted);
  EXPECT_LE(pumps_, 205) << "20 a second";
}

}  // namespace
}  // namespace weir
