#include "bench/advise/log_line.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(LineCutter, ReadsTheTimesOfRocksDbTikvAndCeph) {
  LineCutter cutter;
  for (const char* line :
       {"2023/04/09-12:27:39.658098 7f0844dff640 text", "2023/04/09-12:27:39.658098 30540 text",
        "[2023/04/09 12:27:39.658098 +08:00][2][WARN] text", "2023-04-09T12:27:39.658098+0200 text"}) {
    const auto cut = cutter.Cut(line);
    ASSERT_TRUE(cut) << line;
    EXPECT_EQ(FormatLogTime(cut->at), "2023-04-09 12:27:39") << line;
    EXPECT_EQ(cut->at.count() % 1'000'000, 658'098) << line;
    EXPECT_TRUE(cut->text.ends_with(" text")) << line;
  }
  EXPECT_EQ(cutter.Cut("2023/04/09-12:27:39.5 x")->at.count() % 1'000'000, 500'000);
  EXPECT_EQ(LogSeconds(cutter.Cut("2023/04/10-00:00:01 x")->at - cutter.Cut("2023/04/09-23:59:59 x")->at), 2);
}

TEST(LineCutter, TakesOtherLinesForContinuations) {
  LineCutter cutter;
  for (const char* line :
       {"", "** DB Stats **", "  cache_index_and_filter_blocks: 0", "2023/04/09-12:27:3", "3/04/09-12:27:39.658098 1 x",
        "2023/13/09-12:27:39.658098 1 x", "2023/02/30-12:27:39.658098 1 x"})
    EXPECT_FALSE(cutter.Cut(line)) << line;
}

struct StallCase {
  const char* text;
  const char* family;
  StallLimit limit;
  bool stops;
};

TEST(StallLine, HasFamilyLimitAndKind) {
  using Limit = StallLimit;
  const StallCase cases[] = {
      {" 1 [WARN] [/column_family.cc:930] [default] Stopping writes because we have 2 immutable memtables (waiting for "
       "flush), max_write_buffer_number is set to 2",
       "default", Limit::kMemtables, true},
      {" 1 [WARN] [db/column_family.cc:798] [a b] Stalling writes because we have 4 immutable memtables (waiting for "
       "flush), max_write_buffer_number is set to 5 rate 16777216",
       "a b", Limit::kMemtables, false},
      {" 7f0844dff640 [/column_family.cc:834] [x] Stalling writes because we have 20 level-0 files rate 16777216", "x",
       Limit::kL0Files, false},
      {" 1 [WARN] [/column_family.cc:834] [x] Stopping writes because we have 36 level-0 files", "x", Limit::kL0Files,
       true},
      {"+0200 ffff  3 rocksdb: [db/column_family.cc:805] [O-1] Stalling writes because of estimated pending compaction "
       "bytes 206825160726 rate 4294967296",
       "O-1", Limit::kPendingBytes, false},
      {" 1 [WARN] [/column_family.cc:1] [d] Stopping writes because of estimated pending compaction bytes 9 (limit: "
       "8). "
       "Level scores: [L0:0.1]",
       "d", Limit::kPendingBytes, true}};
  for (const StallCase& c : cases) {
    const auto line = ParseStallLine(c.text);
    ASSERT_TRUE(line) << c.text;
    EXPECT_EQ(line->family, c.family) << c.text;
    EXPECT_EQ(line->limit, c.limit) << c.text;
    EXPECT_EQ(line->stops, c.stops) << c.text;
  }
  for (const char* text :
       {"", " writes because ", " 1 [x] [d] Increasing compaction threads because we have 17 level-0 files ",
        " 1 [x] [d] Stalling writes because of the weather"})
    EXPECT_FALSE(ParseStallLine(text)) << text;
}

TEST(LogEvent, HasTheTimeAtWhichItHappened) {
  // The line was written four seconds later, by a clock that is two hours ahead of UTC.
  LineCutter cutter;
  const auto line = cutter.Cut(
      "2023/04/09-14:27:43.742064 1 (Original Log Time 2023/04/09-14:27:39.742064) EVENT_LOG_v1 {\"time_micros\": "
      "1681043259742064, \"job\": 6, \"event\": \"flush_finished\", \"output_compression\": \"NoCompression\", "
      "\"lsm_state\": [3, 1, 0], \"immutable_memtables\": 0}");
  const auto event = ParseLogEvent(*line);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, LogEvent::Kind::kFlushFinished);
  EXPECT_EQ(FormatLogTime(event->at), "2023-04-09 14:27:39");
  EXPECT_EQ(event->job, 6U);
  EXPECT_EQ(event->family, "");
  EXPECT_EQ(event->levels, (std::vector<uint64_t>{3, 1, 0}));
}

TEST(LogEvent, OfAnotherKindIsNone) {
  LineCutter cutter;
  for (const char* text : {"EVENT_LOG_v1 {\"time_micros\": 1, \"job\": 2, \"event\": \"table_file_deletion\"}",
                           "EVENT_LOG_v1 {\"time_micros\": 1, \"job\": 2}", "EVENT_LOG_v1", "no event"})
    EXPECT_FALSE(ParseLogEvent(*cutter.Cut("2023/04/09-14:27:43.742064 1 " + std::string(text)))) << text;
}

TEST(JobLine, TellsTheFamily) {
  const auto line = ParseJobLine(" 1 [/flush_job.cc:858] [my family] [JOB 17] Level-0 flush table #10: started");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->family, "my family");
  EXPECT_EQ(line->job, 17U);
  EXPECT_FALSE(ParseJobLine(" 1 [/flush_job.cc:858] [JOB 17] Try to delete WAL files"));
}

}  // namespace
}  // namespace weir
