// A LOG that RocksDB 7.8.3 wrote in the storm benchmark (scenario burst, policy alone), without the lines that nothing
// reads. A look at RocksDB a hundred times a second saw there that it delayed or stopped writes for 42.4 s.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

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

// These are of databases with tiny buffers that one thread overloaded through a binding (rocksdict for 9.8.4, else
// rocksdbjni), with statistics every five seconds.
TEST(RecordedLog, OfEachVersionHasWhatRocksDbMeasured) {
  struct Case {
    const char* version;
    double measured, conditions;
  };
  for (const Case& c : {Case{"6.8.1", 14.625, 19.723}, Case{"8.11.4", 19.096, 19.22}, Case{"9.8.4", 17.405, 19.443},
                        Case{"10.10.1", 14.29, 19.218}, Case{"11.1.2", 19.475, 19.71}}) {
    std::string name = std::string("rocksdb_") + c.version;
    std::replace(name.begin(), name.end(), '.', '_');
    const DatabaseReport report = ReportOn(HistoryOf(TextOf(WEIR_SOURCE_DIR "/tests/bench/advise/recorded/" + name)));
    const DatabaseHistory& h = report.history;
    EXPECT_EQ(h.version, c.version);
    EXPECT_NEAR(h.measured_seconds, c.measured, 1e-3) << c.version;
    EXPECT_NEAR(h.covered_seconds, h.logged_seconds, 6) << c.version;
    EXPECT_NEAR(h.delayed_seconds + h.stopped_seconds, c.conditions, 0.01) << c.version;
    EXPECT_EQ(h.Busiest()->options.write_buffer_size, 1U << 20) << c.version;
    EXPECT_TRUE(report.what_if.Fits()) << c.version;
  }
}

TEST(RecordedLog, IsLikeItsSimulation) {
  const DatabaseReport report = ReportOn(Recorded());
  EXPECT_TRUE(report.what_if.Fits()) << report.what_if.StalledFactor() << " " << report.what_if.BytesFactor();
  EXPECT_EQ(report.what_if.with_weir.stalled_seconds, 0);
}

}  // namespace
}  // namespace weir
