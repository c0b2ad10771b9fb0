// The sweeper carries out what is due, and says why it does not.
#include "relay/retention/sweeper.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/retention/retention_suite.h"

namespace weir {
namespace {

class SweeperTest : public testing::Test {
 protected:
  static constexpr uint64_t kNow = 1'700'000'000;
  static constexpr uint64_t kDay = 86'400;

  SweeperTest() { UseRules({.keep = {}, .remove = {{.kinds = Kinds({7}), .older_than_s = kDay}}}); }

  void UseRules(RetentionRules rules) {
    RuleSet set;
    set.retention = std::move(rules);
    rules_ = std::make_shared<Rules>(std::move(set));
  }
  void MakeSweeper(std::optional<uint64_t> budget_bytes = {}) {
    if (budget_bytes) budget_.emplace(*budget_bytes);
    sweeper_ = std::make_unique<Sweeper>(Sweeper::Parts{
        .store = *store_,
        .directory = directory_ / "db",
        .admit = nullptr,
        .remove = [this](std::span<const EventId> ids, const std::atomic<bool>& cancelled) -> Result<uint64_t> {
          if (before_removal_) before_removal_(cancelled);
          return failure_.ok() ? store_->Delete(ids) : failure_;
        },
        .rules = [this] { return rules_; },
        .rung = [](const PublicKey&) { return Rung::kStranger; },
        .standing = [this] { return standing_; },
        .budget = budget_ ? &*budget_ : nullptr,
        .clock = clock_,
        .wall_clock = wall_});
  }
  // Lets time pass, and looks.
  void Look(Duration time = Sweeper::kLookEvery) {
    clock_.Advance(time);
    wall_.Advance(time);
    sweeper_->GoOn();
  }
  void SaveOld(uint64_t count) {
    for (uint64_t n = 0; n < count; ++n) SaveAll(*store_, {Plain(Author(n), kNow - 2 * kDay - n, 7)});
  }
  uint64_t events() const { return store_->Sizes().events; }
  std::string trouble() const { return sweeper_->Stats().trouble; }

  const TempDirectory directory_;
  const std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "db"));
  ManualClock clock_{TimePoint(std::chrono::hours(1))};
  ManualWallClock wall_{kNow};
  std::shared_ptr<const Rules> rules_;
  Sweeper::Standing standing_ = Sweeper::Standing::kKnown;
  Status failure_;
  std::function<void(const std::atomic<bool>& cancelled)> before_removal_;
  std::optional<DiskBudget> budget_;
  std::unique_ptr<Sweeper> sweeper_;
};

TEST_F(SweeperTest, RemovesByAgeAtOnceAndThenOnceAMinute) {
  MakeSweeper();
  SaveOld(3);
  Look();
  EXPECT_EQ(events(), 0U);
  EXPECT_EQ(sweeper_->Stats().removed_by_rule.at("relay.retention.remove[0]"), 3U);
  SaveOld(1);
  Look();
  EXPECT_EQ(events(), 1U);
  Look(AgeSweep::kRunEvery);
  EXPECT_EQ(events(), 0U);
}

TEST_F(SweeperTest, NewRulesAreCarriedOutAtOnce) {
  MakeSweeper();
  Look();
  SaveAll(*store_, {Plain(Author(1), kNow - 2 * kDay, 1)});
  UseRules({.keep = {}, .remove = {{.kinds = Kinds({1}), .older_than_s = kDay}}});
  Look();
  EXPECT_EQ(events(), 0U);
}

TEST_F(SweeperTest, AClockThatIsSetAheadRemovesNothingForTenMinutes) {
  MakeSweeper();
  SaveAll(*store_, {Plain(Author(1), kNow, 7)});
  Look();
  wall_.Advance(365 * kDay);
  Look(AgeSweep::kRunEvery);
  EXPECT_EQ(events(), 1U);
  for (int minute = 0; minute < 11; ++minute) Look(AgeSweep::kRunEvery);
  EXPECT_EQ(events(), 0U);
}

TEST_F(SweeperTest, RulesAboutStandingWaitUntilItIsLearned) {
  UseRules({.keep = {{.from = Rung::kRegular}}, .remove = {{.kinds = Kinds({7}), .older_than_s = kDay}}});
  standing_ = Sweeper::Standing::kLearning;
  MakeSweeper();
  SaveOld(2);
  Look();
  EXPECT_EQ(events(), 2U);
  EXPECT_TRUE(Has(trouble(), "until the relay has learned it")) << trouble();
  standing_ = Sweeper::Standing::kKnown;
  Look();
  EXPECT_EQ(events(), 0U);
  EXPECT_EQ(trouble(), "");
}

TEST_F(SweeperTest, WithoutTheLadderRulesAboutStandingRemoveNothing) {
  UseRules({.keep = {{.from = Rung::kRegular}}, .remove = {{.kinds = Kinds({7}), .older_than_s = kDay}}});
  standing_ = Sweeper::Standing::kOff;
  MakeSweeper(1);
  SaveOld(2);
  Look();
  EXPECT_EQ(events(), 2U);
  EXPECT_TRUE(Has(trouble(), "WEIR_LADDER=off")) << trouble();
}

TEST_F(SweeperTest, HoldsABudgetAndKeepsWhatRulesKeep) {
  UseRules({.keep = {{.kinds = Kinds({0})}}, .remove = {}});
  MakeSweeper(1);
  SaveOld(20);
  SaveAll(*store_, {Plain(Author(1), kNow, 0)});
  Look();
  Look();
  EXPECT_EQ(events(), 1U);
  EXPECT_EQ(sweeper_->Stats().removed_for_budget[static_cast<size_t>(Rung::kStranger)], 20U);
  EXPECT_TRUE(Has(budget_->Refusal(Rung::kTrusted, 1), "to be kept"));
  EXPECT_NE(trouble(), "");
}

TEST_F(SweeperTest, AFailureIsToldCountedAndTriedAgain) {
  MakeSweeper();
  SaveOld(2);
  failure_ = Status::Error("no space");
  Look();
  EXPECT_EQ(sweeper_->Stats().failures, 1U);
  EXPECT_TRUE(Has(trouble(), "no space")) << trouble();
  failure_ = Status();
  Look(AgeSweep::kRunEvery);
  EXPECT_EQ(events(), 0U);
  EXPECT_EQ(trouble(), "");
}

TEST_F(SweeperTest, ASweepEndsWhenTheRulesChange) {
  MakeSweeper();
  SaveOld(2 * kRemovedTogether + 10);
  before_removal_ = [this](const std::atomic<bool>&) { UseRules({.keep = {{.kinds = Kinds({7})}}, .remove = {}}); };
  Look();
  EXPECT_EQ(events(), kRemovedTogether + 10);
  EXPECT_EQ(trouble(), "");
  EXPECT_EQ(sweeper_->Stats().failures, 0U);
  Look(AgeSweep::kRunEvery);
  EXPECT_EQ(events(), kRemovedTogether + 10);
}

TEST_F(SweeperTest, TheDiskSpaceOfAllFilesCountsForTheBudgetAlsoIfItIsOnlyReserved) {
  MakeSweeper(100'000'000);
  Look();
  const uint64_t before = budget_->used_bytes();
  const int copy = open((directory_ / "db/copy").c_str(), O_CREAT | O_WRONLY, 0600);
  const int reserved = fallocate(copy, FALLOC_FL_KEEP_SIZE, 0, 20'000'000);
  close(copy);
  if (reserved != 0) GTEST_SKIP() << "the file system reserves no space";
  Look();
  EXPECT_GT(budget_->used_bytes(), before + 19'000'000);
}

TEST_F(SweeperTest, TheBudgetIsHeldDuringALongSweepByAge) {
  MakeSweeper(uint64_t{1} << 30);
  SaveOld(2 * kRemovedTogether);
  for (uint64_t n = 0; n < 10; ++n) SaveAll(*store_, {Plain(Author(n), kNow, 1)});
  before_removal_ = [this](const std::atomic<bool>&) {
    before_removal_ = nullptr;
    budget_->Note({.events = events(), .disk_bytes = uint64_t{2} << 30}, clock_.Now());
  };
  Look();
  const SweeperStats stats = sweeper_->Stats();
  EXPECT_GT(stats.removed_for_budget[static_cast<size_t>(Rung::kStranger)], 0U);
  EXPECT_GE(stats.removed_by_rule.at("relay.retention.remove[0]"), kRemovedTogether);
}

TEST_F(SweeperTest, TheSizeIsLookedAtAlsoWhileARemovalWaitsAndStopEndsTheWait) {
  MakeSweeper(1);
  SaveOld(10);
  std::atomic<bool> waits = false;
  std::atomic<bool> was_cancelled = false;
  before_removal_ = [&](const std::atomic<bool>& cancelled) {
    waits = true;
    was_cancelled = Eventually([&] { return cancelled.load(); });
  };
  sweeper_->Start();
  ASSERT_TRUE(Eventually([&] { return waits.load(); }));
  const uint64_t before = budget_->used_bytes();
  for (uint64_t n = 0; n < 100; ++n) SaveAll(*store_, {Plain(Author(n), kNow, 1, {}, std::string(50'000, 'x'))});
  EXPECT_TRUE(Eventually([&] { return budget_->used_bytes() > before; }));
  sweeper_->Stop();
  EXPECT_TRUE(was_cancelled);
}

TEST_F(SweeperTest, TheThreadSweepsAndStops) {
  MakeSweeper();
  SaveOld(2);
  sweeper_->Start();
  EXPECT_TRUE(Eventually([this] { return events() == 0; }));
  sweeper_->Stop();
}

}  // namespace
}  // namespace weir
