// A LOG that RocksDB 7.8.3 wrote in the storm benchmark (scenario burst, policy alone), without the lines that nothing
// reads. A look at RocksDB a hundred times a second saw there that it delayed or stopped writes for 42.4 s.
#include <gtest/gtest.h>

#include "bench/advise/database_report.h"
#include "tests/bench/advise/storm_log.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

DatabaseHistory Recorded() { return HistoryOf(TextOf(WEIR_SOURCE_DIR "/tests/bench/advise/data/LOG")); }

TEST(RecordedLog, HasTheStalledTimeThatWasSeen) {
  const DatabaseHistory h = Recorded();
  EXPECT_NEAR(h.stalled_seconds(), 42.4, 1);
  EXPECT_EQ(h.Busiest()->options.level0_file_num_compaction_trigger, 4) << "the storm sets it to 1 when it is over";
  EXPECT_NEAR(h.Busiest()->flushed_bytes, 379e6, 1e6);
}

TEST(RecordedLog, IsLikeItsSimulation) {
  const DatabaseReport report = ReportOn(Recorded());
  EXPECT_TRUE(report.what_if.Fits()) << report.what_if.StalledFactor() << " " << report.what_if.BytesFactor();
  EXPECT_EQ(report.what_if.with_weir.stalled_seconds, 0);
}

}  // namespace
}  // namespace weir
