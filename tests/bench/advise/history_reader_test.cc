#include "bench/advise/history_reader.h"

#include <gtest/gtest.h>

#include "tests/bench/advise/storm_log.h"

namespace weir {
namespace {

constexpr double kGiB = 1 << 30;

class HistoryOfVersion : public testing::TestWithParam<int> {};

TEST_P(HistoryOfVersion, TellsWhatStalledForHowLong) {
  const DatabaseHistory h = HistoryOf(StormLog(GetParam()).text());
  EXPECT_EQ(h.version, std::to_string(GetParam()) + ".8.3");
  EXPECT_EQ(FormatLogTime(h.begin), "2026-04-01 08:04:05");
  EXPECT_NEAR(h.logged_seconds, 130, 1e-6);
  EXPECT_EQ(h.runs, 1U);
  ASSERT_EQ(h.families.size(), 1U);
  const FamilyHistory& f = h.families[0];
  const auto expect = [&](StallLimit limit, bool stops, uint64_t lines, double seconds) {
    EXPECT_EQ(TotalOf(f, limit, stops).lines, lines) << static_cast<int>(limit) << stops;
    EXPECT_NEAR(TotalOf(f, limit, stops).seconds, seconds, 1e-6) << static_cast<int>(limit) << stops;
  };
  expect(StallLimit::kL0Files, false, 1, 40 - 22.001);
  expect(StallLimit::kMemtables, true, 1, 3);
  expect(StallLimit::kPendingBytes, false, 1, 4);
  expect(StallLimit::kL0Files, true, 1, 5);
  expect(StallLimit::kMemtables, false, 0, 0);
  EXPECT_NEAR(h.delayed_seconds, 40 - 22.001 + 4, 1e-6);
  EXPECT_NEAR(h.stopped_seconds, 3 + 5, 1e-6);
  EXPECT_NEAR(h.measured_seconds, 12.5, 1e-6) << "until the statistics";
  EXPECT_NEAR(h.covered_seconds, 100, 1e-6);
  EXPECT_NEAR(h.uncovered_stalled, 5, 1e-6) << "after them";
  EXPECT_NEAR(h.stalled_seconds(), 17.5, 1e-6);
  EXPECT_NEAR(h.user_bytes, 0.5 * kGiB, 1);
  EXPECT_EQ(h.buffer_manager_stops, GetParam() < 8 ? 0U : 3U);
  EXPECT_EQ(f.stall_counts.at("level0_slowdown"), 1U);
}

TEST_P(HistoryOfVersion, TellsWhatTheBackgroundDid) {
  const DatabaseHistory h = HistoryOf(StormLog(GetParam()).text());
  const FamilyHistory& f = h.families.at(0);
  EXPECT_EQ(f.flushes, 4U);
  EXPECT_EQ(f.flushed_memtables, 4U);
  EXPECT_EQ(f.flushed_bytes, 32e6);
  EXPECT_EQ(f.compactions, 2U);
  EXPECT_EQ(f.compacted_bytes, 100e6);
  EXPECT_NEAR(f.busy_seconds, 2 + 25 + 4 + 9 + 1, 1e-6) << "jobs that overlap count once";
  EXPECT_EQ(f.most_l0_files, 6U);
  EXPECT_EQ(f.last_levels, (std::vector<double>{12.5 * 1048576, 38.75 * 1048576}));
  EXPECT_EQ(f.options.write_buffer_size, 8U << 20);
  EXPECT_EQ(f.options.level0_slowdown_writes_trigger, 6);
  EXPECT_EQ(h.options.delayed_write_rate, 8U << 20);
  EXPECT_EQ(h.options.max_background_jobs, 3);
}

INSTANTIATE_TEST_SUITE_P(All, HistoryOfVersion, testing::Values(6, 7, 8, 9, 10, 11));

TEST(HistoryReader, AConditionGoesOnWhileItsLinesCome) {
  SampleLog log(7);
  log.At(0).FlushStarted(1).At(1).Stall(kL0Delay);
  log.At(10.001).Stall(kL0Stop).At(10).FlushFinished(1, 1, "10");
  log.At(12).CompactionStarted(2).At(30.001).Stall(kL0Delay).At(30).CompactionFinished(2, 1, "7");
  log.At(31).FlushStarted(3).At(33).FlushFinished(3, 1, "1").At(90).Line("[x] the end");
  const DatabaseHistory h = HistoryOf(log.text());
  EXPECT_NEAR(h.delayed_seconds, 9.001 + 2.999, 1e-6);
  EXPECT_NEAR(h.stopped_seconds, 20, 1e-6);
  ASSERT_EQ(h.episodes.size(), 1U);
  EXPECT_NEAR(h.episodes[0].seconds, 32, 1e-6);
  EXPECT_TRUE(h.episodes[0].stopped);
}

TEST(HistoryReader, ConditionsOfSeveralFamiliesCountOnceForTheDatabase) {
  SampleLog log(8);
  log.At(0).FlushStarted(1, "a").FlushStarted(2, "b");
  log.At(10).Stall(kL0Delay, "a").At(20).Stall(kL0Stop, "b");
  log.At(30).FlushFinished(2, 1, "1", "b").At(40).FlushFinished(1, 1, "1", "a").At(50).Line("[x] the end");
  const DatabaseHistory h = HistoryOf(log.text());
  ASSERT_EQ(h.families.size(), 2U);
  EXPECT_NEAR(h.families[0].stalled_seconds(), 30, 1e-6);
  EXPECT_NEAR(h.families[1].stalled_seconds(), 10, 1e-6);
  EXPECT_NEAR(h.delayed_seconds, 20, 1e-6);
  EXPECT_NEAR(h.stopped_seconds, 10, 1e-6);
  EXPECT_EQ(h.Busiest()->name, "a");
}

TEST(HistoryReader, ClosingEndsConditionsAndIsNoLoggedTime) {
  SampleLog log(7);
  log.At(0).Head({}, {}).FlushStarted(1).At(1).FlushFinished(1, 1, "1");
  log.At(10).Stall(kL0Delay).At(50).Statistics(50, 20, 1).At(60).Line("[x] the last line");
  log.At(1000).Head({}, {}).At(1100).Statistics(100, 5, 2).At(1100).Line("[x] the end");
  const DatabaseHistory h = HistoryOf(log.text());
  EXPECT_EQ(h.runs, 2U);
  EXPECT_NEAR(h.logged_seconds, 60 + 100, 1e-6);
  EXPECT_NEAR(h.delayed_seconds, 50, 1e-6);
  EXPECT_NEAR(h.measured_seconds, 25, 1e-6);
  EXPECT_NEAR(h.covered_seconds, 150, 1e-6);
  EXPECT_NEAR(h.uncovered_stalled, 10, 1e-6) << "from the first run's statistics to its end";
}

TEST(HistoryReader, StatisticsCountOnlyTheLog) {
  SampleLog log(9);
  log.At(0).Line("[x] a LOG without its beginning");
  log.At(100).Statistics(5000, 1000, 10).At(700).Statistics(5600, 1060, 12).At(800).Line("[x] the end");
  const DatabaseHistory h = HistoryOf(log.text());
  EXPECT_NEAR(h.measured_seconds, 60, 1e-6);
  EXPECT_NEAR(h.covered_seconds, 600, 1e-6);
  EXPECT_NEAR(h.user_bytes, 2 * kGiB, 1);
}

TEST(HistoryReader, LinesAloneAreNoLongStall) {
  SampleLog log(7);
  log.At(0).Stall(kL0Delay).At(20).Stall(kL0Delay).At(5000).Stall(kL0Delay).At(9000).Line("[x] the end");
  const DatabaseHistory h = HistoryOf(log.text());
  EXPECT_NEAR(h.delayed_seconds, 20, 1e-6) << "the LOG hides all flushes and compactions";
  EXPECT_NEAR(h.stalled_seconds(), 20, 1e-6);
}

TEST(HistoryReader, FollowsSetOptions) {
  SampleLog log(7);
  log.At(0).Head({}, {"level0_slowdown_writes_trigger: 20"});
  const auto set = [&](const char* value, const char* result) {
    log.Line("[/db_impl/db_impl.cc:1162] SetOptions() on column family [default], inputs:");
    log.Line(std::string("[/db_impl/db_impl.cc:1165] level0_slowdown_writes_trigger: ") + value);
    log.Line(std::string("[/db_impl/db_impl.cc:1169] [default] SetOptions() ") + result);
  };
  set("33", "succeeded");
  EXPECT_EQ(HistoryOf(log.text()).families.at(0).options.level0_slowdown_writes_trigger, 33);
  set("44", "failed");
  EXPECT_EQ(HistoryOf(log.text()).families.at(0).options.level0_slowdown_writes_trigger, 33);
  log.Stall(kL0Delay);
  set("55", "succeeded");
  EXPECT_EQ(HistoryOf(log.text()).families.at(0).options.level0_slowdown_writes_trigger, 33) << "as at most stalls";
}

TEST(HistoryReader, AnOptionsFileTellsWhatTheLogDoesNot) {
  OptionsText file{.rocksdb_version = "9.1.0", .max_background_jobs = 7};
  file.families = {{"default", {.write_buffer_size = 1 << 20}}, {"other", {.write_buffer_size = 2 << 20}}};
  HistoryReader with_head;
  with_head.Add("2026/04/01-08:00:00.0 1 [x] --------------- Options for column family [default]:");
  with_head.Add("2026/04/01-08:00:00.0 1       Options.write_buffer_size: 3145728");
  with_head.AddOptionsFile(file);
  const DatabaseHistory h = std::move(with_head).Finish();
  EXPECT_EQ(h.version, "9.1.0");
  EXPECT_EQ(h.options.max_background_jobs, 7);
  ASSERT_EQ(h.families.size(), 2U);
  EXPECT_EQ(h.families[0].options.write_buffer_size, 3U << 20) << "the LOG goes first";
  EXPECT_EQ(h.families[1].options.write_buffer_size, 2U << 20);
}

TEST(HistoryReader, BoundsTheFamilies) {
  SampleLog log(7);
  for (int i = 0; i < 1000; ++i) log.At(i).Stall(kL0Delay, "family" + std::to_string(i));
  const DatabaseHistory h = HistoryOf(log.text());
  EXPECT_EQ(h.families.size(), HistoryReader::kMostFamilies + 1);
  EXPECT_EQ(h.families.back().name, HistoryReader::kOtherFamilies);
}

// No figure may be larger than with the missing lines. The best figure for the stalled time may be: without statistics
// it is that of the conditions, which are longer than what was measured.
void ExpectNoMore(const DatabaseHistory& cut, const DatabaseHistory& whole, size_t where) {
  constexpr double kRounding = 1e-6;
  const auto at_most = [&](double part, double all) { EXPECT_LE(part, all + kRounding) << where; };
  at_most(static_cast<double>(cut.lines), static_cast<double>(whole.lines));
  at_most(cut.logged_seconds, whole.logged_seconds);
  at_most(cut.delayed_seconds + cut.stopped_seconds, whole.delayed_seconds + whole.stopped_seconds);
  at_most(cut.measured_seconds, whole.measured_seconds);
  at_most(cut.covered_seconds, whole.covered_seconds);
  at_most(cut.user_bytes, whole.user_bytes);
  at_most(cut.uncovered_stalled, whole.delayed_seconds + whole.stopped_seconds);
  ASSERT_LE(cut.families.size(), whole.families.size()) << where;
  for (const FamilyHistory& family : cut.families) {
    const FamilyHistory& all = whole.families.at(0);
    EXPECT_EQ(family.name, all.name) << where;
    at_most(family.flushed_bytes, all.flushed_bytes);
    at_most(family.compacted_bytes, all.compacted_bytes);
    at_most(family.busy_seconds, all.busy_seconds);
    at_most(static_cast<double>(family.most_l0_files), static_cast<double>(all.most_l0_files));
    for (const bool stops : {false, true}) {
      for (const StallLimit limit : {StallLimit::kMemtables, StallLimit::kL0Files, StallLimit::kPendingBytes}) {
        EXPECT_LE(TotalOf(family, limit, stops).lines, TotalOf(all, limit, stops).lines) << where;
        at_most(TotalOf(family, limit, stops).seconds, TotalOf(all, limit, stops).seconds);
      }
    }
  }
}

class CutLogProperty : public testing::TestWithParam<int> {};

TEST_P(CutLogProperty, NoFigureGrowsByACut) {
  const std::string text = StormLog(GetParam()).text();
  const DatabaseHistory whole = HistoryOf(text);
  for (size_t at = 0; at <= text.size(); ++at) {
    ExpectNoMore(HistoryOf(std::string_view(text).substr(0, at)), whole, at);
    ExpectNoMore(HistoryOf(std::string_view(text).substr(at)), whole, at);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CutLogProperty, testing::Values(6, 11));

}  // namespace
}  // namespace weir
