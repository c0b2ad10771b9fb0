#include "bench/simulator/simulation.h"

#include <gtest/gtest.h>

#include "tests/bench/simulator/run.h"

namespace weir {
namespace {

TEST(Simulation, ARowMayStandForSeveralTicks) {
  SimulationOptions options = OptionsOf("step");
  options.seconds = 50;
  const SimulationResult all = Simulate(options);
  options.ticks_per_row = 10;
  const SimulationResult few = Simulate(options);
  EXPECT_NEAR(static_cast<double>(few.rows.size()), static_cast<double>(all.rows.size()) / 10, 1);
  EXPECT_EQ(few.figures.bulk_bytes_per_second, all.figures.bulk_bytes_per_second);
  double inflow = 0;
  for (const TickRow& row : few.rows) inflow += row.inflow / static_cast<double>(few.rows.size());
  EXPECT_NEAR(inflow, 4.4e6, 2e6) << "the inflow of a row is a rate";
}

TEST(Simulation, AScenarioMayHaveFewInteractiveClients) {
  Scenario scenario = *FindScenario("step");
  scenario.from_s = 0;
  SimulationOptions options = OptionsOf("step");
  options.scenario = &scenario;
  options.seconds = 50;
  scenario.interactive_per_second = 10;
  const Figures figures = Simulate(options).figures;
  const double interactive = figures.aggregate_bytes_per_second - figures.bulk_bytes_per_second;
  EXPECT_NEAR(interactive, 10 * kRecordBytes, 3 * kRecordBytes);
}

}  // namespace
}  // namespace weir
