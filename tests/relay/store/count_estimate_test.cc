// The statistics of an estimate, with groups that a test makes up.
#include "relay/store/count_estimate.h"

#include <gtest/gtest.h>

#include "tests/fixtures/plain_event.h"

namespace weir {
namespace {

constexpr uint64_t kGroups = 97;

// Finds each event.
class AllQuery final : public Query {
 public:
  AllQuery() { moment_.Advance({.number = 1}); }
  Result<Progress> Next(const Slice&, const OnMatch&) override { return Progress::kDone; }
  const Moment& moment() const override { return moment_; }
  bool complete() const override { return false; }
  uint64_t visits() const override { return 0; }
  Work work() const override { return 0; }
  std::optional<bool> WouldFind(EventView, Work) override { return true; }
  void Suspend() override {}
  uint64_t held_bytes() const override { return 0; }

 private:
  Moment moment_;
};

// Groups of very different sizes, in two parts: most are empty, a few have most of the events. Some events came later.
class CountEstimateTest : public testing::Test {
 protected:
  static uint64_t SizeOf(uint64_t group) { return group % 3 != 0 ? 0 : group % 30 == 0 ? 40 : 2; }
  EventGroups GroupsFrom(uint64_t first, uint64_t count) const {
    const auto read = [this, first](uint64_t group, uint64_t after, const EventGroups::Visit& visit) -> Result<Work> {
      for (uint64_t place = after + 1; place <= SizeOf(first + group) + 3; ++place)
        if (!visit(place, {.number = place <= 3 ? 2U : 1U}, event_.view())) break;
      return Work{0};
    };
    return {.count = count, .read = read};
  }
  std::vector<EventGroups> All() const { return {GroupsFrom(0, 60), GroupsFrom(60, kGroups - 60)}; }
  static uint64_t Events() {
    uint64_t events = 0;
    for (uint64_t group = 0; group < kGroups; ++group) events += SizeOf(group);
    return events;
  }

  const Event event_ = ToEvent(Plain(Author(1), 10, 1));
  AllQuery query_;
};

// The mean over all groups with which an estimate may begin is the true number, so the estimate has no bias.
TEST_F(CountEstimateTest, IsRightInTheMean) {
  double sum = 0;
  for (uint64_t random = 0; random < kGroups; ++random) {
    CountEstimate estimate(All(), query_, 5, random);
    while (estimate.error() >= 1) ASSERT_TRUE(estimate.Next(1).ok());  // until 64 groups were read
    sum += static_cast<double>(estimate.total());
  }
  EXPECT_NEAR(sum / kGroups, static_cast<double>(5 + Events()), 0.5);
}

TEST_F(CountEstimateTest, IsExactOnceItHasReadAllGroups) {
  for (const uint64_t random : {uint64_t{0}, kGroups - 1, UINT64_MAX}) {
    CountEstimate estimate(All(), query_, 5, random);
    Result<Progress> progress = Progress::kMore;
    while (progress.ok() && progress.value() == Progress::kMore) progress = estimate.Next(kTurnWork);
    EXPECT_EQ(estimate.total(), 5 + Events());
    EXPECT_EQ(estimate.error(), 0);
  }
}

TEST_F(CountEstimateTest, WithoutGroupsHasWhatWasCounted) {
  CountEstimate estimate({}, query_, 5, 3);
  EXPECT_EQ(estimate.Next(kTurnWork).value(), Progress::kDone);
  EXPECT_EQ(estimate.total(), 5U);
  EXPECT_EQ(estimate.error(), 0);
}

TEST_F(CountEstimateTest, GoesOnBehindTheLastEventAfterAnError) {
  bool fails = true;
  const EventGroups good = GroupsFrom(0, 1);
  const auto read = [&](uint64_t group, uint64_t after, const EventGroups::Visit& visit) -> Result<Work> {
    if (!fails) return good.read(group, after, visit);
    const auto some = [&](uint64_t place, Serial serial, EventView event) {
      return visit(place, serial, event) && place < 10;
    };
    EXPECT_TRUE(good.read(group, after, some).ok());
    return Status::Error("gone");
  };
  CountEstimate estimate({{.count = 1, .read = read}}, query_, 0, 0);
  EXPECT_FALSE(estimate.Next(kTurnWork).ok());
  fails = false;
  EXPECT_EQ(estimate.Next(kTurnWork).value(), Progress::kDone);
  EXPECT_EQ(estimate.total(), SizeOf(0));
}

}  // namespace
}  // namespace weir
