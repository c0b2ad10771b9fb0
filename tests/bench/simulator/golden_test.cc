// The throttle's actions in each scenario, as a text that a reviewer can read: one line for every fifth tick. A change
// of the control shows here; after reviewing it, write the new text with WEIR_UPDATE_GOLDEN=1.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/simulator/report.h"
#include "tests/bench/simulator/run.h"

namespace weir {
namespace {

constexpr size_t kEvery = 5;

std::string Trace(const SimulationResult& run) {
  std::string text = "  time_s level  limit_mb_s  drain_mb_s  in_mb_s  l0_files  l1_mb  mem_mb  debt_mb  reason\n";
  for (size_t i = 0; i < run.rows.size(); i += kEvery) {
    const TickRow& r = run.rows[i];
    char limit[16] = "open";
    if (!r.open) std::snprintf(limit, sizeof limit, "%.1f", r.limit / 1e6);
    char line[160];
    std::snprintf(line, sizeof line, "%8.1f %5.2f %11s %11.1f %8.1f %9llu %6.0f %7.1f %8.0f  %s%s\n", r.time_s, r.level,
                  limit, r.drain / 1e6, r.inflow / 1e6, static_cast<unsigned long long>(r.l0_files), r.l1_bytes / 1e6,
                  r.memtable_bytes / 1e6, r.pending_bytes / 1e6, r.reason.c_str(), r.braking ? " (engine brakes)" : "");
    text += line;
  }
  return text;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class Golden : public testing::TestWithParam<std::string_view> {};

TEST_P(Golden, TraceIsAsItWas) {
  const std::filesystem::path path =
      std::filesystem::path(WEIR_SOURCE_DIR) / "tests/bench/simulator/golden" / (std::string(GetParam()) + ".txt");
  const std::string text = Trace(Simulate(OptionsOf(GetParam())));
  if (std::getenv("WEIR_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << "no golden trace for this scenario; WEIR_UPDATE_GOLDEN=1 writes it";
  std::ostringstream golden;
  golden << file.rdbuf();
  const std::vector<std::string> was = LinesOf(golden.str());
  const std::vector<std::string> is = LinesOf(text);
  for (size_t i = 0; i < std::min(was.size(), is.size()); ++i) {
    ASSERT_EQ(was[i], is[i]) << "line " << i + 1 << "; if this is meant, WEIR_UPDATE_GOLDEN=1 writes the new trace\n"
                             << was[0];
  }
  EXPECT_EQ(was.size(), is.size());
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Golden,
                         testing::Values("step", "ramp", "burst", "idle-burst", "bandwidth", "sensor-loss",
                                         "gain-change", "thousand-writers", "memory-only", "memory-low-l0-high",
                                         "ten-parties"),
                         [](const auto& values) {
                           std::string name(values.param);
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

TEST(Simulation, TheSameTwice) {
  for (const std::string_view scenario : {"step", "thousand-writers", "memory-only"}) {
    EXPECT_EQ(AsCsv(Simulate(OptionsOf(scenario))), AsCsv(Simulate(OptionsOf(scenario)))) << scenario;
  }
}

}  // namespace
}  // namespace weir
