// The storm on database servers: tests that it runs and leaves its report behind, not the figures that it measures.
#include "bench/storm/wire/wire_storm.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "bench/storm/figures.h"
#include "tests/bench/storm/scratch.h"
#include "tests/fixtures/mariadb_process.h"
#include "tests/fixtures/postgres_process.h"

namespace weir {
namespace {

void RunShortly(WireEngine& engine, WireStormPlan plan) {
  const auto scratch = MakeScratch();
  const std::filesystem::path results = scratch->path() / "results";
  plan.results = results.string();
  plan.repetitions = 1;
  plan.warm_up_seconds = 0.2;
  plan.calm_seconds = 0.2;
  plan.burst_seconds = 1;
  plan.clients = 2;
  plan.bulk_writers = 2;
  plan.keys = 1000;

  const Status stormed = RunWireStorm(engine, plan);
  ASSERT_TRUE(stormed.ok()) << stormed.message();
  const Result<std::vector<PhaseRow>> rows = ReadRows(results / "results.csv");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows.value().size(), 4U);
  for (const PhaseRow& row : rows.value()) {
    if (row.phase != "burst") continue;
    EXPECT_GT(row.writes + row.refused, 0) << row.run.policy;
    if (row.run.policy == "alone") {
      EXPECT_GT(row.bulk_mb_per_second, 0);
    }
    EXPECT_EQ(row.cpu_seconds > 0, plan.engine == "myrocks") << "the others do not tell it";
    const std::string name = RunName(row.run) + ".csv";
    EXPECT_TRUE(std::filesystem::exists(results / "timeline" / name)) << name;
    EXPECT_TRUE(std::filesystem::exists(results / "ccdf" / name)) << name;
  }

  ASSERT_TRUE(RunWireStorm(engine, plan).ok());
  EXPECT_EQ(ReadRows(results / "results.csv").value().size(), 4U) << "a run was repeated";
  plan.engine = "neo4j";
  EXPECT_FALSE(RunWireStorm(engine, plan).ok()) << "the directory is another engine's";
}

TEST(WireStorm, RunsEachPolicyOnceOnPostgres) {
  if (!PostgresProcess::IsInstalled()) GTEST_SKIP() << "no PostgreSQL is installed";
  const PostgresProcess server;
  RunShortly(*MakePostgresEngine(server.conninfo(), {}), PostgresPlan());
}

TEST(WireStorm, RunsEachPolicyOnceOnMyRocks) {
  EXPECT_FALSE(MakeMyRocksEngine("http://db1").ok());
  if (!MariadbProcess::IsInstalled()) GTEST_SKIP() << "no MyRocks is installed";
  const MariadbProcess server;
  const auto engine = MakeMyRocksEngine(server.url());
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  RunShortly(*engine.value(), MyRocksPlan());
}

}  // namespace
}  // namespace weir
