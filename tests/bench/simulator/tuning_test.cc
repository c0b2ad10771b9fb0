// Checks on the simulated engine the directions that the tuning table (throttle/TUNING.md) claims.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/bench/simulator/run.h"

namespace weir {
namespace {

Figures With(std::string_view scenario, void (*change)(ControlSettings&)) {
  SimulationOptions options = OptionsOf(scenario);
  change(options.settings.bulk);
  return Simulate(options).figures;
}

// Settling that never happens counts as later than any time.
double Settling(const Figures& f) {
  return std::isnan(f.settling_seconds) ? std::numeric_limits<double>::infinity() : f.settling_seconds;
}

TEST(Tuning, MoreKpMeansLessOvershootAndSoonerSettling) {
  const auto quarter = [](ControlSettings& s) { s.gains.kp /= 4; };
  const auto fourfold = [](ControlSettings& s) { s.gains.kp *= 4; };
  EXPECT_GT(FiguresOf("step").overshoot_percent, 1.2 * With("step", fourfold).overshoot_percent);
  EXPECT_GT(Settling(With("step", quarter)), 1.2 * Settling(FiguresOf("step")));
  EXPECT_GT(Settling(FiguresOf("step")), 1.2 * Settling(With("step", fourfold)));
}

TEST(Tuning, MoreKiMeansMoreOvershootAfterAStep) {
  const auto tenfold = [](ControlSettings& s) { s.gains.ki *= 10; };
  const auto none = [](ControlSettings& s) { s.gains.ki = 0; };
  EXPECT_GT(With("step", tenfold).overshoot_percent, 1.2 * FiguresOf("step").overshoot_percent);
  EXPECT_LT(With("step", none).overshoot_percent, FiguresOf("step").overshoot_percent);
}

// In the half minute of this scenario the level is still on its way to the setpoint.
TEST(Tuning, MoreKiRemovesAnErrorSooner) {
  const auto none = [](ControlSettings& s) { s.gains.ki = 0; };
  const auto tenfold = [](ControlSettings& s) { s.gains.ki *= 10; };
  const double usual = std::abs(FiguresOf("burst").steady_error);
  EXPECT_GT(std::abs(With("burst", none).steady_error), 1.2 * usual);
  EXPECT_LT(std::abs(With("burst", tenfold).steady_error), usual / 2);
}

TEST(Tuning, MuchKdDampsAndDelays) {
  const auto much = [](ControlSettings& s) { s.gains.kd *= 10; };
  EXPECT_LT(With("sustained-3x", much).overshoot_percent, FiguresOf("sustained-3x").overshoot_percent);
  EXPECT_GT(Settling(With("step", much)), Settling(FiguresOf("step")));
}

TEST(Tuning, AlphaHardlyMatters) {
  for (const double alpha : {0.05, 0.5}) {
    SimulationOptions options = OptionsOf("step");
    options.settings.bulk.filter_alpha = alpha;
    EXPECT_NEAR(Simulate(options).figures.overshoot_percent, FiguresOf("step").overshoot_percent, 5) << alpha;
  }
}

}  // namespace
}  // namespace weir
