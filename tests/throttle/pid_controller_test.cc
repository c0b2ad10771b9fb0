#include "throttle/pid_controller.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Integral = PidController::Integral;

constexpr Duration kTick = milliseconds(100);
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A controller with P and I only, and bounds that are easy to calculate with.
PidSettings Plain(PidGains gains = {.kp = 1, .ki = 0.5, .kd = 0}) {
  return {.gains = gains, .setpoint = 0.5, .integral_min = -1, .integral_max = 1, .output_min = 0, .output_max = 1};
}

void Repeat(PidController& pid, double measurement, Duration total, Duration tick = kTick) {
  for (Duration t{}; t < total; t += tick) pid.Update(measurement, tick);
}

// Any double, often an odd one.
rc::Gen<double> AnyDouble() {
  return rc::gen::oneOf(
      rc::gen::arbitrary<double>(),
      rc::gen::element(0.0, -0.0, 0.5, 0.85, 1.0, 1e308, -1e308, std::numeric_limits<double>::denorm_min(), kInfinity,
                       -kInfinity, kNan, std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()));
}

rc::Gen<Duration> AnyDuration() {
  return rc::gen::map(rc::gen::oneOf(rc::gen::arbitrary<int64_t>(),
                                     rc::gen::element<int64_t>(0, -1, 1, 100'000'000, INT64_MAX, INT64_MIN)),
                      [](int64_t ns) { return Duration(ns); });
}

// Uniform within [low, high], to a thousandth of the range.
double Within(double low, double high) { return low + (high - low) * *rc::gen::inRange(0, 1001) / 1000.0; }

TEST(PidController, SumsItsTermsAsTheFormulaSays) {
  PidController pid(Plain());
  pid.Update(0.7, seconds(0));
  EXPECT_DOUBLE_EQ(pid.GetState().p, 0.2);
  EXPECT_DOUBLE_EQ(pid.GetState().i, 0);
  const double output = pid.Update(0.7, seconds(1));
  EXPECT_DOUBLE_EQ(pid.GetState().i, 0.5 * 0.2);
  EXPECT_DOUBLE_EQ(output, 0.3);
}

TEST(PidController, BrakesStrongerThanItLetsGoButIntegratesAlike) {
  PidSettings settings = Plain();
  settings.braking = 4;
  settings.output_min = -10;
  settings.output_max = 10;
  PidController pid(settings);
  pid.Update(0.7, seconds(1));
  EXPECT_DOUBLE_EQ(pid.GetState().p, 4 * 0.2);
  EXPECT_DOUBLE_EQ(pid.GetState().i, 0.5 * 0.2);
  const double before = pid.GetState().output;
  pid.SetGains({.kp = 0.5, .ki = 0.5, .kd = 0});
  EXPECT_DOUBLE_EQ(pid.GetState().output, before) << "without a bump";
  pid.Update(0.3, seconds(0));
  EXPECT_DOUBLE_EQ(pid.GetState().p, -0.5 * 0.2);
}

TEST(PidController, FillsAsStronglyAsItIsTold) {
  PidSettings settings = Plain();
  settings.braking = 4;
  settings.output_min = -10;
  PidController pid(settings);
  pid.SetFilling(3);
  pid.Update(0.3, seconds(1));
  EXPECT_DOUBLE_EQ(pid.GetState().p, 3 * -0.2);
  EXPECT_DOUBLE_EQ(pid.GetState().i, 0.5 * -0.2) << "the integral fills no faster";
  for (double odd : {kNan, kInfinity, 0.0, -1.0}) pid.SetFilling(odd);
  pid.Update(0.3, seconds(0));
  EXPECT_DOUBLE_EQ(pid.GetState().p, 3 * -0.2);
}

// The D term after a rise of 0.1 that ends `below` under the setpoint.
double DerivativeOfARise(double below) {
  PidSettings settings = Plain();
  settings.gains.kd = 1;
  settings.braking = 4;
  settings.output_min = -10;
  settings.output_max = 10;
  PidController pid(settings);
  pid.Update(settings.setpoint - below - 0.1, seconds(0));
  pid.Update(settings.setpoint - below, milliseconds(100));
  return pid.GetState().d;
}

TEST(PidController, BrakesARiseTheStrongerTheNearerItIsToTheSetpoint) {
  const double far = DerivativeOfARise(0.3);
  EXPECT_GT(far, 0);
  EXPECT_DOUBLE_EQ(DerivativeOfARise(0.2), far);
  EXPECT_NEAR(DerivativeOfARise(0.1) / far, 2.5, 1e-9) << "half-way there";
  EXPECT_NEAR(DerivativeOfARise(0) / far, 4, 1e-9);
  EXPECT_NEAR(DerivativeOfARise(-0.1) / far, 4, 1e-9);
}

TEST(PidController, ALowerBoundOfTheOutputStopsTheIntegral) {
  PidController pid(Plain());
  pid.SetOutputMax(0.3);
  Repeat(pid, 0.7, seconds(60));
  EXPECT_DOUBLE_EQ(pid.GetState().output, 0.3);
  EXPECT_NEAR(pid.GetState().i, 0.1, 1e-9) << "what the answer leaves of it";
  for (double odd : {kNan, kInfinity, -kInfinity}) pid.SetOutputMax(odd);
  EXPECT_DOUBLE_EQ(pid.Update(0.7, kTick), 0.3);
  pid.SetOutputMax(-5);
  EXPECT_DOUBLE_EQ(pid.Update(0.7, kTick), 0) << "the lowest output is its least bound";
}

TEST(PidController, AnswersAtOnceAfterAnHourOfIdling) {
  PidController pid(Plain());
  Repeat(pid, 0.1, hours(1), seconds(1));
  EXPECT_EQ(pid.GetState().output, 0);
  EXPECT_DOUBLE_EQ(pid.GetState().i, 0);
  EXPECT_GT(pid.Update(0.51, kTick), 0);
}

TEST(PidController, AnHourOfIdlingForgetsAnEarlierOverload) {
  PidController pid(Plain());
  Repeat(pid, 0.7, seconds(60));
  ASSERT_GT(pid.GetState().i, 0.7);
  Repeat(pid, 0.0, hours(1), seconds(1));
  EXPECT_EQ(pid.Update(0.4, kTick), 0) << "a brake below the setpoint, left over from an hour ago";
}

TEST(PidController, TheIntegralStopsWhenTheOutputMeetsItsBound) {
  PidController pid(Plain());
  Repeat(pid, 1.1, seconds(600));  // p is 0.6, so the integral can use 0.4 at most
  EXPECT_DOUBLE_EQ(pid.GetState().output, 1);
  EXPECT_LE(pid.GetState().i, 0.4 + 1e-12);
}

TEST(PidController, RecoversFromSaturationWithinTheTimeItsIntegralNeeds) {
  PidController pid(Plain());
  Repeat(pid, 1e9, hours(1), seconds(1));
  // The integral is at most 1 and unwinds at 0.5 · 0.3 a second.
  Repeat(pid, 0.2, seconds(7));
  EXPECT_EQ(pid.GetState().output, 0);
}

TEST(PidController, TheFirstSampleDoesNotKick) {
  PidController pid(Plain({.kp = 0, .ki = 0, .kd = 10}));
  EXPECT_EQ(pid.Update(0.9, kTick), 0);
  EXPECT_EQ(pid.GetState().d, 0);
}

TEST(PidController, AMovedSetpointDoesNotKickTheDerivative) {
  PidController pid(Plain({.kp = 0, .ki = 0, .kd = 10}));
  pid.Update(0.9, kTick);
  pid.SetSetpoint(0.1);
  EXPECT_EQ(pid.Update(0.9, kTick), 0);
}

TEST(PidController, TheOutputGlidesToANewSetpointAndEndsWhereAStepWould) {
  PidController pid(Plain({.kp = 1, .ki = 0, .kd = 0}));
  const double before = pid.Update(0.9, kTick);
  pid.SetSetpoint(0.3);
  EXPECT_EQ(pid.GetState().output, before);
  const double step = 0.5 - 0.3;
  for (double last = before; pid.GetState().setpoint > 0.301; last = pid.GetState().output) {
    const double next = pid.Update(0.9, kTick);
    ASSERT_GE(next, last);
    ASSERT_LE(next - last, 0.05 * step);
  }
  EXPECT_NEAR(pid.GetState().output, 0.6, 0.002);
}

TEST(PidController, ThePaceOfANewSetpointDoesNotDependOnTheTick) {
  PidController coarse(Plain());
  PidController fine(Plain());
  for (PidController* pid : {&coarse, &fine}) {
    pid->Update(0.9, kTick);
    pid->SetSetpoint(0.2);
  }
  coarse.Update(0.9, seconds(1));
  Repeat(fine, 0.9, seconds(1), milliseconds(10));
  EXPECT_NEAR(coarse.GetState().setpoint, fine.GetState().setpoint, 1e-9);
  EXPECT_LT(fine.GetState().setpoint, 0.5);
}

TEST(PidController, BeforeItHasMeasuredANewSetpointHoldsAtOnce) {
  PidController pid(Plain({.kp = 1, .ki = 0, .kd = 0}));
  pid.SetSetpoint(0.3);
  EXPECT_DOUBLE_EQ(pid.Update(0.9, kTick), 0.6);
}

TEST(PidController, TheDerivativeOfALongRampIsItsSlope) {
  PidSettings settings = Plain({.kp = 0, .ki = 0, .kd = 0.5});
  settings.output_min = -10;
  PidController pid(settings);
  double level = 0;
  for (int i = 0; i < 200; ++i) pid.Update(level += 0.01, kTick);  // 0.1 a second
  // Samples hold for a tick, so the filter sees a staircase that lags the ramp by half a step.
  EXPECT_NEAR(pid.GetState().d, 0.05, 0.05 * 0.15);
}

TEST(PidController, AMeasurementThatIsNotFiniteChangesNothing) {
  for (double odd : {kNan, kInfinity, -kInfinity}) {
    PidController pid(Plain());
    Repeat(pid, 0.8, seconds(1));
    const PidState before = pid.GetState();
    EXPECT_EQ(pid.Update(odd, kTick), before.output);
    const PidState after = pid.GetState();
    EXPECT_EQ(after.i, before.i);
    EXPECT_EQ(after.measurement, before.measurement);
    EXPECT_EQ(after.filtered, before.filtered);
  }
}

TEST(PidController, ASetpointThatIsNotFiniteChangesNothing) {
  for (double odd : {kNan, kInfinity, -kInfinity}) {
    PidController pid(Plain());
    pid.SetSetpoint(odd);
    EXPECT_DOUBLE_EQ(pid.Update(0.7, seconds(0)), 0.2);
  }
}

TEST(PidController, GainsThatAreNotFiniteOrNegativeChangeNothing) {
  for (double odd : {kNan, kInfinity, -1.0, 1e300}) {
    PidController pid(Plain());
    pid.SetGains({.kp = odd, .ki = 0.5, .kd = 0});
    EXPECT_EQ(pid.settings().gains, (PidGains{.kp = 1, .ki = 0.5, .kd = 0}));
  }
}

TEST(PidController, TimeThatStandsOrRunsBackCountsAsZero) {
  for (Duration dt : {Duration(0), Duration(-1), Duration::min()}) {
    PidController pid(Plain());
    pid.Update(0.5, kTick);
    pid.Update(0.9, dt);
    EXPECT_EQ(pid.GetState().i, 0) << dt.count();
    EXPECT_EQ(pid.GetState().filtered, 0.5);
  }
}

TEST(PidController, HoldDownLetsTheIntegralBrakeMoreButNotLess) {
  PidController pid(Plain());
  pid.Update(0.8, seconds(1), Integral::kHoldDown);
  const double braking = pid.GetState().i;
  EXPECT_GT(braking, 0);
  pid.Update(0.2, seconds(1), Integral::kHoldDown);
  EXPECT_EQ(pid.GetState().i, braking);
  pid.Update(0.49, kTick, Integral::kFree);
  EXPECT_LT(pid.GetState().i, braking);
}

TEST(PidController, TrackApproachesTheAppliedOutputInTheIntegralTime) {
  PidController pid(Plain());  // kp/ki = 2 s
  pid.Update(0.7, seconds(0));
  pid.Track(0.1, seconds(2));
  const double share = 1 - std::exp(-1);
  EXPECT_NEAR(pid.GetState().output, 0.2 - 0.1 * share, 1e-12);
  for (double odd : {kNan, kInfinity}) {
    const double i = pid.GetState().i;
    pid.Track(odd, seconds(1));
    EXPECT_EQ(pid.GetState().i, i);
  }
}

TEST(PidController, TrackTeachesNoBrake) {
  PidController pid(Plain());
  pid.Update(0.2, seconds(0));
  pid.Track(0.6, seconds(100));
  EXPECT_EQ(pid.GetState().i, 0);
  pid.Update(0.7, seconds(2));
  const double learned = pid.GetState().i;
  ASSERT_GT(learned, 0);
  pid.Track(10, seconds(100));
  EXPECT_EQ(pid.GetState().i, learned);
  pid.Track(-10, seconds(100));
  EXPECT_LT(pid.GetState().i, 0);
}

TEST(PidController, RelaxForgetsByTheTimeConstant) {
  PidController pid(Plain());
  pid.Update(0.7, seconds(2));
  const double i = pid.GetState().i;
  pid.Relax(seconds(3), seconds(3));
  EXPECT_NEAR(pid.GetState().i, i * std::exp(-1), 1e-12);
  pid.Relax(Duration::max(), seconds(1));
  EXPECT_EQ(pid.GetState().i, 0);
}

TEST(PidController, ResetIsANewController) {
  PidController pid(Plain({.kp = 1, .ki = 0.5, .kd = 1}));
  PidController fresh(Plain({.kp = 1, .ki = 0.5, .kd = 1}));
  Repeat(pid, 0.9, seconds(5));
  pid.Reset();
  EXPECT_EQ(pid.GetState().i, 0);
  EXPECT_EQ(pid.Update(0.6, kTick), fresh.Update(0.6, kTick));
}

TEST(PidController, AChangeOfGainsWhileIdlingStoresNoBrake) {
  PidController pid(Plain());
  Repeat(pid, 0.1, seconds(10));
  pid.SetGains({.kp = 3, .ki = 0.5, .kd = 0});
  EXPECT_EQ(pid.GetState().output, 0);
  EXPECT_EQ(pid.Update(0.45, seconds(0)), 0) << "below the setpoint there is nothing to brake";
}

TEST(PidController, AChangeOfGainsInSaturationStoresNoBrake) {
  PidController pid(Plain({.kp = 10, .ki = 0, .kd = 0}));
  pid.Update(1.0, kTick);  // p = 5, the output is at its bound of 1
  pid.SetGains({.kp = 0, .ki = 0, .kd = 0});
  EXPECT_EQ(pid.GetState().output, 1);
  EXPECT_LE(pid.GetState().i, 1);
}

struct BadSettings {
  const char* what;
  void (*spoil)(PidSettings&);
};

TEST(PidController, RefusesSettingsThatMakeNoSense) {
  const std::vector<BadSettings> table = {
      {"negative kp", [](PidSettings& s) { s.gains.kp = -1; }},
      {"NaN ki", [](PidSettings& s) { s.gains.ki = kNan; }},
      {"infinite kd", [](PidSettings& s) { s.gains.kd = kInfinity; }},
      {"NaN setpoint", [](PidSettings& s) { s.setpoint = kNan; }},
      {"alpha 0", [](PidSettings& s) { s.filter_alpha = 0; }},
      {"alpha 1", [](PidSettings& s) { s.filter_alpha = 1; }},
      {"alpha 2", [](PidSettings& s) { s.filter_alpha = 2; }},
      {"alpha NaN", [](PidSettings& s) { s.filter_alpha = kNan; }},
      {"no tick", [](PidSettings& s) { s.nominal_tick = Duration(0); }},
      {"integral bounds crossed", [](PidSettings& s) { s.integral_min = 2; }},
      {"integral bounds without 0", [](PidSettings& s) { s.integral_min = 0.5; }},
      {"output bounds crossed", [](PidSettings& s) { s.output_max = -1; }},
      {"NaN bound", [](PidSettings& s) { s.output_min = kNan; }},
  };
  for (const auto& [what, spoil] : table) {
    PidSettings settings = Plain();
    spoil(settings);
    EXPECT_THROW(PidController{settings}, std::invalid_argument) << what;
  }
}

RC_GTEST_PROP(PidControllerProperty, AnyInputGivesABoundedOutput, ()) {
  const PidSettings settings = Plain({.kp = Within(0, 1e6), .ki = Within(0, 1e6), .kd = Within(0, 1e6)});
  PidController pid(settings);
  const int steps = *rc::gen::inRange(1, 60);
  for (int n = 0; n < steps; ++n) {
    switch (*rc::gen::inRange(0, 10)) {
      case 0:
        pid.SetGains({.kp = *AnyDouble(), .ki = *AnyDouble(), .kd = *AnyDouble()});
        break;
      case 1:
        pid.SetSetpoint(*AnyDouble());
        break;
      case 2:
        pid.Track(*AnyDouble(), *AnyDuration());
        break;
      case 3:
        pid.Relax(*AnyDuration(), *AnyDuration());
        break;
      default:
        pid.Update(*AnyDouble(), *AnyDuration(), *rc::gen::element(Integral::kFree, Integral::kHoldDown));
        break;
    }
    const PidState s = pid.GetState();
    RC_ASSERT(s.output >= settings.output_min && s.output <= settings.output_max);
    RC_ASSERT(s.i >= settings.integral_min && s.i <= settings.integral_max);
    RC_ASSERT(std::isfinite(s.p) && std::isfinite(s.d) && std::isfinite(s.filtered));
  }
}

// Exact except for rounding while no bound is met. A relative 1e-9 is far more than a thousand additions lose.
RC_GTEST_PROP(PidControllerProperty, ManySmallStepsEqualOne, ()) {
  PidSettings settings = Plain({.kp = Within(0, 5), .ki = Within(0, 2), .kd = Within(0, 2)});
  settings.output_min = settings.integral_min = -1e6;
  settings.output_max = settings.integral_max = 1e6;
  PidController one(settings);
  PidController many(settings);
  const int rounds = *rc::gen::inRange(1, 10);
  for (int round = 0; round < rounds; ++round) {
    const double level = Within(-1, 3);
    const int n = *rc::gen::inRange(1, 1000);
    const Duration step = Duration(*rc::gen::inRange<int64_t>(1'000, 10'000'000));
    one.Update(level, step * n);
    for (int k = 0; k < n; ++k) many.Update(level, step);
  }
  const double tolerance = 1e-9 * (1 + std::abs(one.GetState().output));
  RC_ASSERT(std::abs(one.GetState().output - many.GetState().output) <= tolerance);
  RC_ASSERT(std::abs(one.GetState().i - many.GetState().i) <= tolerance);
}

// Holds at the bounds too, as long as D does not move them meanwhile.
RC_GTEST_PROP(PidControllerProperty, ManySmallStepsEqualOneAtTheBounds, ()) {
  const PidSettings settings = Plain({.kp = Within(0, 5), .ki = Within(0, 2), .kd = 0});
  PidController one(settings);
  PidController many(settings);
  const int rounds = *rc::gen::inRange(1, 10);
  for (int round = 0; round < rounds; ++round) {
    const double level = Within(-1, 3);
    const int n = *rc::gen::inRange(1, 200);
    one.Update(level, kTick * n);
    for (int k = 0; k < n; ++k) many.Update(level, kTick);
    RC_ASSERT(std::abs(one.GetState().i - many.GetState().i) <= 1e-9);
  }
}

RC_GTEST_PROP(PidControllerProperty, RecoversFromAnySaturationInBoundedTime, ()) {
  const PidGains gains{.kp = Within(0, 5), .ki = Within(0.01, 2), .kd = Within(0, 2)};
  PidController pid(Plain(gains));
  const int steps = *rc::gen::inRange(1, 30);
  for (int n = 0; n < steps; ++n) pid.Update(*AnyDouble(), Duration(*rc::gen::inRange<int64_t>(0, 10'000'000'000)));
  // From any state: D fades within 50 time constants (0.45 s each) even from 1e9, and I crosses its range at 0.3·ki per
  // second.
  const double longest_s = 50 * 0.45 + 1.0 / (0.3 * gains.ki) + 1;
  Repeat(pid, 0.2, FromSeconds(longest_s), milliseconds(500));
  RC_ASSERT(pid.GetState().output <= 1e-6);
}

RC_GTEST_PROP(PidControllerProperty, NewGainsDoNotMoveTheOutput, ()) {
  PidSettings settings = Plain({.kp = Within(0, 5), .ki = Within(0, 2), .kd = Within(0, 2)});
  settings.integral_min = -1e3;
  settings.integral_max = 1e3;
  PidController pid(settings);
  const int steps = *rc::gen::inRange(1, 30);
  for (int n = 0; n < steps; ++n) pid.Update(Within(0, 2), kTick);
  const double before = pid.GetState().output;
  pid.SetGains({.kp = Within(0, 5), .ki = Within(0, 2), .kd = Within(0, 2)});
  RC_ASSERT(std::abs(pid.GetState().output - before) <= 1e-9);
  const PidState s = pid.GetState();
  RC_ASSERT(std::abs(pid.Update(s.measurement, Duration(0)) - before) <= 1e-9);
}

}  // namespace
}  // namespace weir
