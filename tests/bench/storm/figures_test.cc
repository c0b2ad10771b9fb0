#include "bench/storm/figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "tests/bench/storm/scratch.h"

namespace weir {
namespace {

class Figures : public testing::Test {
 protected:
  const std::unique_ptr<TemporaryDirectory> scratch_ = MakeScratch();
  const std::filesystem::path file_ = scratch_->path() / "below" / "results.csv";
};

TEST_F(Figures, RowsAreReadBackAsTheyWereWritten) {
  PhaseRow first{.run = {.scale = 0.25, .scenario = "burst", .policy = "static@5.5", .repetition = 2, .label = "KP=2"},
                 .phase = "burst"};
  double value = 1;
  for (const NumberColumn& column : NumberColumns()) first.*column.number = value += 0.125;
  PhaseRow second = first;
  second.phase = "settle";
  second.settle_seconds = std::numeric_limits<double>::quiet_NaN();
  ASSERT_TRUE(AppendRows(file_, {first}).ok());
  ASSERT_TRUE(AppendRows(file_, {second}).ok());

  const Result<std::vector<PhaseRow>> read = ReadRows(file_);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read.value().size(), 2u);
  const PhaseRow& back = read.value()[0];
  EXPECT_EQ(back.run.scale, 0.25);
  EXPECT_EQ(back.run.scenario, "burst");
  EXPECT_EQ(back.run.policy, "static@5.5");
  EXPECT_EQ(back.run.repetition, 2);
  EXPECT_EQ(back.run.label, "KP=2");
  EXPECT_EQ(back.outcome, "ok");
  for (const NumberColumn& column : NumberColumns())
    EXPECT_NEAR(back.*column.number, first.*column.number, 5e-4) << column.name;
  EXPECT_EQ(read.value()[1].phase, "settle");
  EXPECT_TRUE(std::isnan(read.value()[1].settle_seconds));
}

TEST(FiguresOfTwoDatabases, AreSumsOfTheWorkAndTheWorseOfAllOthers) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  PhaseRow a{.phase = "burst"}, b{.phase = "burst"};
  for (PhaseRow* row : {&a, &b}) row->seconds = 30;
  a.writes = 10, a.write_p999_ms = 7, a.braked_seconds = 1, a.cpu_us_per_value = 60, a.limit_spread_percent = kNan;
  b.writes = 20, b.write_p999_ms = 5, b.braked_seconds = 2, b.cpu_us_per_value = 30, b.limit_spread_percent = 12;
  a.limit_within_percent = 90, b.limit_within_percent = 70;
  a.adjusted_bulk_mb_per_second = 4, b.adjusted_bulk_mb_per_second = kNan;
  const PhaseRow both = Together(a, b);
  EXPECT_EQ(both.phase, "burst");
  EXPECT_EQ(both.seconds, 30);
  EXPECT_EQ(both.writes, 30);
  EXPECT_EQ(both.write_p999_ms, 7);
  EXPECT_EQ(both.braked_seconds, 3);
  EXPECT_EQ(both.limit_spread_percent, 12) << "the one that has a limit";
  EXPECT_EQ(both.limit_within_percent, 70);
  EXPECT_TRUE(std::isnan(both.adjusted_bulk_mb_per_second)) << "one of them did not settle";
  EXPECT_NEAR(both.cpu_us_per_value, 20, 1e-9) << "the same CPU time for all values";
}

TEST_F(Figures, MessageOfAnErrorStaysInItsCell) {
  ASSERT_TRUE(AppendRows(file_, {{.phase = "burst", .outcome = "IO error: a, b\n\"c\""}}).ok());
  const Result<std::vector<PhaseRow>> read = ReadRows(file_);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value()[0].outcome, "IO error: a; b;;c;");
}

TEST_F(Figures, FileOfOtherColumnsIsRefused) {
  std::filesystem::create_directories(file_.parent_path());
  std::ofstream(file_) << "a,b\n1,2\n";
  const Result<std::vector<PhaseRow>> read = ReadRows(file_);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("results.csv: line 1"), std::string::npos) << read.status().message();
}

TEST_F(Figures, LineThatWasCutOffIsNamed) {
  ASSERT_TRUE(AppendRows(file_, {{.phase = "burst"}}).ok());
  std::ofstream(file_, std::ios::app) << "1,burst,weir\n";
  const Result<std::vector<PhaseRow>> read = ReadRows(file_);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("line 3"), std::string::npos) << read.status().message();
}

TEST_F(Figures, PlaceThatCannotBeWrittenIsNamed) {
  const Status status = AppendRows("/proc/none/results.csv", {{.phase = "burst"}});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("/proc/none/results.csv"), std::string::npos);
}

}  // namespace
}  // namespace weir
