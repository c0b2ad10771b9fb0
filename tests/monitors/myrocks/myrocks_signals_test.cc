#include "monitors/myrocks/myrocks_signals.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr Duration kInterval = milliseconds(250);
constexpr double kMiB = 1 << 20;

// A family with 4 MiB buffers that slows down from 12 files in L0 on.
MyRocksFamily Family(double l0_files) {
  MyRocksFamily family{.options = {.write_buffer_size = 4 << 20,
                                   .max_write_buffer_number = 4,
                                   .level0_slowdown_writes_trigger = 12,
                                   .level0_stop_writes_trigger = 20}};
  family.counters.l0_files = l0_files;
  family.counters.l0_bytes = l0_files * 4 * kMiB;
  family.counters.levels = {{l0_files, l0_files * 4 * kMiB, 0}};
  return family;
}

// Samples once a second, when the counters are due.
class Sampled {
 public:
  const LoadSample& operator()(const MyRocksFigures& figures) {
    sample_ = {};
    signals_.Update(now_ += std::chrono::seconds(1), figures, &sample_);
    return sample_;
  }
  MyRocksSignals& signals() { return signals_; }

 private:
  MyRocksSignals signals_{kInterval};
  TimePoint now_{std::chrono::hours(1)};
  LoadSample sample_;
};

TEST(MyRocksSignals, AreThoseOfTheFamilyInWhichTheyAreHighest) {
  Sampled sampled;
  MyRocksFamily filling = Family(0);
  filling.immutable_memtables = 2;
  const LoadSample& sample = sampled({.families = {{"a", Family(4)}, {"b", Family(8)}, {"c", filling}}});
  EXPECT_EQ(sample.signals().size(), 4U);
  EXPECT_DOUBLE_EQ(sample.LevelOf("l0"), 0.5) << "halfway between trigger and slowdown: the brakes are not moved";
  EXPECT_DOUBLE_EQ(sample.LevelOf("memtables"), 0.5);
  EXPECT_DOUBLE_EQ(sampled({.families = {{"b", Family(12)}}}).LevelOf("l0"), 1);
}

TEST(MyRocksSignals, ADebtAtTheLimitIsOne) {
  Sampled sampled;
  MyRocksFamily family = Family(8);
  family.counters.base_level_bytes = 480 * kMiB;
  family.counters.levels.push_back({100, 480 * kMiB, 1.5});
  family.options.soft_pending_compaction_bytes_limit = 512 << 20;
  double level = 0;
  for (int i = 0; i < 400; ++i) level = sampled({.families = {{"a", family}}}).LevelOf("debt");
  EXPECT_NEAR(level, 1, 0.01);
}

TEST(MyRocksSignals, BrakesAreCountedFromTheFirstSampleOn) {
  Sampled sampled;
  MyRocksFigures figures{.families = {{"a", Family(0)}}, .brakes = 7};
  EXPECT_EQ(sampled(figures).escapes, 0U);
  figures.brakes = 9;
  EXPECT_EQ(sampled(figures).escapes, 2U);
  figures.brakes = 1;
  EXPECT_EQ(sampled(figures).escapes, 3U) << "the server was started anew";
  sampled.signals().Forget();
  figures.brakes = 100;
  EXPECT_EQ(sampled(figures).escapes, 3U) << "another server";
}

// Flushes of 8 MiB a second, which a compaction takes out of L0.
TEST(MyRocksSignals, TheDrainIsMeasured) {
  Sampled sampled;
  MyRocksFigures figures{.families = {{"a", Family(8)}}};
  MyRocksFamily& family = figures.families["a"];
  family.compacting = true;
  for (int i = 0; i < 100; ++i) {
    figures.user_bytes += 8 * kMiB;
    family.counters.flushed_bytes += 8 * kMiB;
    family.counters.flushed_table_bytes += 8 * kMiB;
    family.counters.drained_from_l0_bytes += 8 * kMiB;
    family.counters.compaction_written_bytes += 16 * kMiB;
    sampled(figures);
  }
  EXPECT_NEAR(sampled(figures).Find("l0")->drain_bytes_per_second, 8 * kMiB, kMiB);
}

TEST(MyRocksSignals, AFamilyWithoutCompactionsLimitsByItsMemtablesOnly) {
  Sampled sampled;
  MyRocksFamily family = Family(100);
  family.options.disable_auto_compactions = true;
  const LoadSample& sample = sampled({.families = {{"a", family}}});
  EXPECT_EQ(sample.Find("l0")->bytes_per_level, 0);
  EXPECT_GT(sample.Find("memtables")->bytes_per_level, 0);
}

TEST(MyRocksSignals, SortedRunsCountWithUniversalCompaction) {
  Sampled sampled;
  MyRocksFamily family = Family(6);
  family.options.compaction_style = CompactionStyle::kUniversal;
  family.counters.levels.resize(7);
  family.counters.levels[5].files = family.counters.levels[6].files = 1;
  EXPECT_DOUBLE_EQ(sampled({.families = {{"a", family}}}).LevelOf("l0"), 0.5);
}

RC_GTEST_PROP(MyRocksSignalsProperty, AreFiniteWhateverTheServerSays, ()) {
  Sampled sampled;
  const auto number = [] { return static_cast<double>(*rc::gen::arbitrary<uint32_t>()) * 1000; };
  for (int i = 0; i < 5; ++i) {
    MyRocksFigures figures{
        .user_bytes = number(), .background_bytes = number(), .brakes = *rc::gen::arbitrary<uint32_t>()};
    for (const char* name : {"a", "b", "c"}) {
      if (name[0] != 'a' && *rc::gen::arbitrary<bool>()) continue;
      MyRocksFamily family{
          .options = {.write_buffer_size = *rc::gen::arbitrary<uint32_t>(),
                      .max_write_buffer_number = *rc::gen::arbitrary<int>(),
                      .min_write_buffer_number_to_merge = *rc::gen::arbitrary<int>(),
                      .level0_slowdown_writes_trigger = *rc::gen::arbitrary<int>(),
                      .compaction_style = *rc::gen::element(CompactionStyle::kLevel, CompactionStyle::kUniversal,
                                                            CompactionStyle::kFifo),
                      .level_compaction_dynamic_level_bytes = *rc::gen::arbitrary<bool>()},
          .flushing = *rc::gen::arbitrary<bool>(),
          .compacting = *rc::gen::arbitrary<bool>()};
      RocksDbCounters& c = family.counters;
      c.base_level = *rc::gen::inRange(1, 7);
      c.l0_files = number();
      c.l0_bytes = number();
      c.flushed_bytes = number();
      c.drained_from_l0_bytes = number();
      c.levels.resize(*rc::gen::inRange<size_t>(0, 8));
      for (RocksDbLevel& level : c.levels) level = {number(), number(), number()};
      figures.families.emplace(name, std::move(family));
    }
    for (const Signal& s : sampled(figures).signals())
      RC_ASSERT(std::isfinite(s.level) && s.level >= 0 && std::isfinite(s.bytes_per_level) &&
                std::isfinite(s.drain_bytes_per_second) && s.dead_time < std::chrono::hours(2));
  }
}

}  // namespace
}  // namespace weir
