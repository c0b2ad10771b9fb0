#include "bench/advise/what_if.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

// The engine of the storm benchmark (geometry "recipe" of the simulator), which writers without pause overload. RocksDB
// wrote 9 MB/s then, and was delayed nearly always (bench/simulator/README.md).
DatabaseHistory Overloaded(int seconds = 120, double megabytes_per_second = 9) {
  DatabaseHistory h;
  h.lines = 1;
  h.logged_seconds = seconds;
  h.delayed_seconds = 0.95 * seconds;
  h.uncovered_stalled = h.delayed_seconds;
  h.options.delayed_write_rate = 32 << 20;
  FamilyHistory f{.name = "default"};
  f.options = {.write_buffer_size = 4 << 20,
               .max_write_buffer_number = 4,
               .level0_slowdown_writes_trigger = 12,
               .level0_stop_writes_trigger = 20,
               .soft_pending_compaction_bytes_limit = 512 << 20,
               .hard_pending_compaction_bytes_limit = 2ull << 30,
               .max_bytes_for_level_base = 32 << 20};
  f.flushed_bytes = 1e6 * megabytes_per_second * seconds;
  f.flushes = static_cast<uint64_t>(f.flushed_bytes / 3.97e6);
  f.busy_seconds = seconds;
  f.compacted_bytes = 32.0 * (1 << 20) * seconds - f.flushed_bytes;
  f.first_levels = {0, 0, 70e6};
  f.last_levels = {0, 0, 70e6};
  f.stalls[0][static_cast<size_t>(StallLimit::kL0Files)] = {.lines = 100, .seconds = h.delayed_seconds};
  const auto at = [](int second) { return LogTime(std::chrono::seconds(second)); };
  for (int i = 0; i < seconds; ++i) {
    const TimelineSpan span{.delayed_seconds = 0.95, .written_bytes = 1e6 * megabytes_per_second};
    f.timeline.Add(at(i), at(i + 1) - LogTime(1), span);
    h.timeline.Add(at(i), at(i + 1) - LogTime(1), span);
  }
  h.families = {f};
  return h;
}

TEST(WhatIf, AnOverloadStallsRocksDbAndNotWeir) {
  const WhatIf w = Replay(Overloaded());
  ASSERT_EQ(w.why_not, "");
  EXPECT_EQ(w.seconds, 120);
  EXPECT_TRUE(w.Fits()) << w.StalledFactor() << " " << w.BytesFactor();
  EXPECT_GT(w.alone.stalled_seconds, 60);
  EXPECT_EQ(w.with_weir.stalled_seconds, 0);
  EXPECT_GT(w.with_weir.bulk_bytes, 0.7 * w.alone.bulk_bytes);
  EXPECT_FALSE(w.with_weir.l0_files.empty());
}

TEST(WhatIf, ALogThatIsNotLikeTheSimulationDoesNotFit) {
  DatabaseHistory h = Overloaded();
  h.families[0].compacted_bytes *= 20;  // such a background would never be late
  const WhatIf w = Replay(h);
  ASSERT_EQ(w.why_not, "");
  EXPECT_FALSE(w.Fits());
}

TEST(WhatIf, SimulatesThePartOfALongLogThatStalledMost) {
  DatabaseHistory h = Overloaded(100);
  const LogTime from = std::chrono::seconds(2000), until = std::chrono::seconds(2200);
  const TimelineSpan stalled{.delayed_seconds = 200, .written_bytes = 1800e6};
  for (Timeline* timeline : {&h.timeline, &h.families[0].timeline}) timeline->Add(from, until, stalled);
  const WhatIf w = Replay(h, 300);
  ASSERT_EQ(w.why_not, "");
  EXPECT_LE(w.seconds, 300);
  EXPECT_LE(w.begin, from);
  EXPECT_GE(w.begin + LogTime(static_cast<int64_t>(1e6 * w.seconds)), until);
  EXPECT_NEAR(w.logged_stalled_seconds, 200, 1e-3);
}

TEST(WhatIf, SaysWhyItCannotSimulate) {
  DatabaseHistory calm = Overloaded();
  calm.delayed_seconds = 0;
  EXPECT_EQ(Replay(calm).why_not, "the LOG has no line of a stall");
  DatabaseHistory hidden = Overloaded();
  hidden.families[0].busy_seconds = 0;
  EXPECT_NE(Replay(hidden).why_not.find("info_log_level"), std::string::npos);
  DatabaseHistory universal = Overloaded();
  universal.families[0].options.compaction_style = CompactionStyle::kUniversal;
  EXPECT_NE(Replay(universal).why_not.find("level compaction"), std::string::npos);
  DatabaseHistory apart = Overloaded();
  apart.families[0].timeline = Timeline();
  EXPECT_NE(Replay(apart).why_not.find("no flushes near"), std::string::npos);
  EXPECT_NE(Replay({}).why_not, "");
}

// Figures that are absurd, as those of a damaged LOG, make no endless or wrong run.
TEST(WhatIf, TakesAbsurdOptions) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    DatabaseHistory h = Overloaded(20);
    LsmOptions& o = h.families[0].options;
    o.write_buffer_size = o.max_bytes_for_level_base = o.soft_pending_compaction_bytes_limit =
        o.hard_pending_compaction_bytes_limit = size;
    o.level0_file_num_compaction_trigger = o.max_write_buffer_number = 2147483647;
    const WhatIf w = Replay(h);
    EXPECT_EQ(w.why_not, "");
    EXPECT_LE(w.alone.stalled_seconds, 20.001);
  }
}

}  // namespace
}  // namespace weir
