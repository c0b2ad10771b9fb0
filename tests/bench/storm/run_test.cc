// Short, small runs on a real RocksDB: every policy lets the load through, and a run leaves its figures.
#include "bench/storm/run.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/bench/storm/scratch.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

size_t Lines(const fs::path& file) {
  std::ifstream in(file);
  return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
}

class StormRun : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeTemplate(Small(), scratch_->path() / "template").ok()); }

  RunSpec Spec(const std::string& policy) const {
    return {.key = {.scale = 0.1, .scenario = "burst", .policy = policy},
            .scenario = {.name = "burst",
                         .phases = {{"calm", 0.1}, {"burst", 1, {BulkLoad::Kind::kClosedLoop}}},
                         .judged_phase = "burst",
                         .writers_of_party = {2, 1},
                         .scanners = 1},
            .shape = Small(),
            .template_path = scratch_->path() / "template",
            .scratch = scratch_->path(),
            .results = scratch_->path() / "results"};
  }

  const std::unique_ptr<TemporaryDirectory> scratch_ = MakeScratch();
};

class StormPolicies : public StormRun, public testing::WithParamInterface<std::string> {};

TEST_P(StormPolicies, LetTheLoadThroughAndLeaveFigures) {
  const RunSpec spec = Spec(GetParam());
  const Status status = RunHere(spec);
  ASSERT_TRUE(status.ok()) << status.message();

  const Result<std::vector<PhaseRow>> read = ReadRows(spec.results / "results.csv");
  ASSERT_TRUE(read.ok()) << read.status().message();
  const std::vector<PhaseRow>& rows = read.value();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].phase, "calm");
  EXPECT_EQ(rows[0].bulk_mb_per_second, 0);
  EXPECT_EQ(rows[1].phase, "burst");
  EXPECT_GT(rows[1].bulk_mb_per_second, 0);
  EXPECT_GT(rows[1].writes, 0);
  EXPECT_GT(rows[1].jain_index, 0);
  EXPECT_EQ(rows[2].phase, "settle");
  for (const PhaseRow& row : rows) {
    EXPECT_EQ(row.outcome, "ok");
    EXPECT_GT(row.peak_memory_mb, 0);
  }
  EXPECT_GT(Lines(spec.results / "timeline" / (RunName(spec.key) + ".csv")), 1u);
  EXPECT_GT(Lines(spec.results / "ccdf" / (RunName(spec.key) + ".csv")), 1u);
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const PolicyKind& kind : PolicyKinds()) names.push_back(kind.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Every, StormPolicies, testing::ValuesIn(Names()), [](const auto& i) { return i.param; });

class ShapesOfTheStorm : public testing::TestWithParam<std::string> {};

TEST_P(ShapesOfTheStorm, AreStoredAndStormed) {
  const auto scratch = MakeScratch();
  const StormShape shape = Small(*FindStormShape(GetParam()));
  ASSERT_TRUE(MakeTemplate(shape, scratch->path() / "template").ok());
  for (const std::string policy : {"alone", "weir"}) {
    const RunSpec spec{.key = {.shape = shape.name, .scale = 0.1, .scenario = "shape", .policy = policy},
                       .scenario = {.name = "shape",
                                    .phases = {{"burst", 0.5, {BulkLoad::Kind::kClosedLoop}}},
                                    .judged_phase = "burst",
                                    .settles = false},
                       .shape = shape,
                       .load = {.writing_clients = 16, .reading_clients = 8},
                       .template_path = scratch->path() / "template",
                       .scratch = scratch->path()};
    const Result<RunFigures> run = weir::Run(spec);
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_GT(run.value().rows[0].writes, 0) << policy;
    EXPECT_GT(run.value().rows[0].noise_p999_ms, 0) << policy;
    // With weir the first batch of large values may have to wait for longer than the run.
    if (policy == "alone") {
      EXPECT_GT(run.value().rows[0].bulk_mb_per_second, 0);
    }
  }
}

std::vector<std::string> ShapeNames() {
  std::vector<std::string> names;
  for (const StormShape& shape : StormShapes()) names.push_back(shape.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Every, ShapesOfTheStorm, testing::ValuesIn(ShapeNames()), [](const auto& i) {
  std::string name = i.param;
  std::erase(name, '-');
  return name;
});

TEST_F(StormRun, LeavesNoDatabaseBehind) {
  ASSERT_TRUE(RunHere(Spec("alone")).ok());
  for (const fs::directory_entry& entry : fs::directory_iterator(scratch_->path()))
    EXPECT_TRUE(entry.path().filename() == "template" || entry.path().filename() == "results") << entry.path();
}

TEST_F(StormRun, RunThatFailedLeavesNoRowsSoThatItIsRepeated) {
  RunSpec spec = Spec("alone");
  spec.template_path = scratch_->path() / "none";
  const Status status = RunHere(spec);
  ASSERT_FALSE(status.ok());
  EXPECT_FALSE(fs::exists(spec.results / "results.csv"));
}

// RocksDB's threads do not come along with a fork, so its flushes would never run.
TEST_F(StormRun, NoRunApartFromAProcessWithThreads) {
  const Status status = RunApart(Spec("alone"));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("threads"), std::string::npos) << status.message();
}

TEST_F(StormRun, MissingTemplateIsNamed) {
  RunSpec spec = Spec("alone");
  spec.template_path = scratch_->path() / "none";
  const Status status = RunHere(spec);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("none"), std::string::npos) << status.message();
}

TEST(StormPolicy, RefusesUnknownNamesAndKnobsAndListsTheKnownOnes) {
  const auto message = [](const std::string& spec) { return MakePolicy(spec, {}, {}).status().message(); };
  EXPECT_NE(message("wier").find("low_pri"), std::string::npos) << message("wier");
  EXPECT_NE(message("raised@3").find("no knob"), std::string::npos) << message("raised@3");
  EXPECT_NE(message("static@fast").find("bulk MB/s"), std::string::npos) << message("static@fast");
}

// A bulk write never starts before the earlier ones have had their time.
TEST_F(StormRun, StaticRateIsNeverExceeded) {
  constexpr double kMbPerSecond = 2;
  auto policy = std::move(MakePolicy("static@2", StormShape(), {})).value();
  StormEngine::Options options = StormEngine::DefaultOptions(Small());
  policy->Adapt(options);
  auto engine =
      std::move(StormEngine::Open(Small(), std::move(options), scratch_->path() / "template", scratch_->path()))
          .value();
  policy->Start(*engine);
  const TimePoint start = Clock::System().Now();
  double before_last = 0;
  for (int i = 0; i < 5; ++i) {
    rocksdb::WriteBatch batch;
    batch.Put(StormKey(1), std::string(20'000, 'x'));
    if (i < 4) before_last += static_cast<double>(batch.GetDataSize());
    ASSERT_FALSE(policy->Write({.work_class = WorkClass::kBulk}, batch).refused);
  }
  EXPECT_GE(ToSeconds(Clock::System().Now() - start), before_last / (kMbPerSecond * 1e6));
  policy->Stop();
}

}  // namespace
}  // namespace weir
