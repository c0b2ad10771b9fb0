#include "throttle/rate_law.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTick = milliseconds(100);
constexpr double kSetpoint = 0.8;
constexpr double kMb = 1e6;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLowestLimit = 16 << 10;
constexpr double kBraking = 6;  // times as strong above the setpoint as below it

// 40 MB between idle and the engine's own brake, a dead time of 1 s, 10 MB/s drained: 20 MB/s for each unit of error.
Signal Engine(std::string_view name, double level) {
  return {.name = name,
          .level = level,
          .bytes_per_level = 40 * kMb,
          .dead_time = seconds(1),
          .drain_bytes_per_second = 10 * kMb};
}

Signal OfUnknownDrain(std::string_view name, double level) {
  Signal signal = Engine(name, level);
  signal.drain_bytes_per_second = 0;
  return signal;
}

LoadSample Sample(const std::vector<Signal>& signals, double memory_pressure = 0) {
  LoadSample sample;
  sample.time = TimePoint{seconds(1)};
  sample.memory_pressure = memory_pressure;
  for (const Signal& signal : signals) sample.Add(signal);
  return sample;
}

RateLaw MakeLaw(ProcessVariable pv = ProcessVariable::kBottleneck,
                PidGains gains = {.kp = 0.5, .ki = 0.1, .kd = 0.05}) {
  ControlSettings settings;
  settings.gains = gains;
  settings.setpoint = kSetpoint;
  return RateLaw(settings, pv, kTick);
}

constexpr Demand kPressing{.inflow_bytes_per_second = 10 * kMb, .bytes_per_second = 10 * kMb, .waited = true};
constexpr Demand kIdle{};

RateDecision Repeat(RateLaw& law, const LoadSample& sample, const Demand& demand, Duration total) {
  RateDecision decision;
  for (Duration t{}; t < total; t += kTick) decision = law.Update(sample, demand, kTick);
  return decision;
}

TEST(RateLaw, IsOpenWithoutSignals) {
  RateLaw law = MakeLaw();
  EXPECT_TRUE(law.Update(Sample({}), kPressing, kTick).open);
  EXPECT_EQ(law.State().output, 0);
}

TEST(RateLaw, IsOpenFarBelowTheSetpointWithoutDemand) {
  RateLaw law = MakeLaw();
  EXPECT_TRUE(Repeat(law, Sample({Engine("l0", 0.1)}), kIdle, seconds(1)).open);
  EXPECT_FALSE(Repeat(law, Sample({Engine("l0", 0.9)}), kIdle, seconds(1)).open);
}

TEST(RateLaw, NamesTheMostRestrictiveSignal) {
  RateLaw law = MakeLaw();
  RateDecision decision =
      law.Update(Sample({Engine("memtables", 0.5), Engine("l0", 0.9), Engine("debt", 0.7)}), kIdle, kTick);
  EXPECT_EQ(decision.reason, "l0");
  EXPECT_EQ(decision.level, 0.9);
  decision = Repeat(law, Sample({Engine("memtables", 1.2), Engine("l0", 0.9)}), kIdle, seconds(1));
  EXPECT_EQ(decision.reason, "memtables");
}

TEST(RateLaw, ASlowerPartOfTheEngineLimitsAtALowerLevel) {
  Signal slow = Engine("debt", 0.75);
  slow.drain_bytes_per_second = 1 * kMb;
  slow.bytes_per_level = 4 * kMb;
  RateLaw law = MakeLaw();
  EXPECT_EQ(law.Update(Sample({Engine("l0", 0.8), slow}), kIdle, kTick).reason, "debt");
}

TEST(RateLaw, AtTheSetpointTheLimitIsTheDrain) {
  RateLaw law = MakeLaw();
  const RateDecision decision = law.Update(Sample({Engine("l0", kSetpoint)}), kIdle, kTick);
  EXPECT_NEAR(decision.bytes_per_second, 10 * kMb, 1);
}

TEST(RateLaw, FillsRoomBrisklyIfTheInflowShowsAtOnce) {
  const auto limit = [](Duration dead_time, bool at_once) {
    Signal l0 = Engine("l0", kSetpoint - 0.1);
    l0.dead_time = dead_time;
    l0.bytes_per_level = 40 * kMb * ToSeconds(dead_time);  // 20 MB/s per unit at any dead time
    l0.shows_inflow_at_once = at_once;
    return MakeLaw().Update(Sample({l0}), kIdle, Duration(0)).bytes_per_second;
  };
  using std::chrono::seconds;
  EXPECT_NEAR(limit(seconds(6), false), 10 * kMb + 20 * kMb * 0.1, 1);
  EXPECT_NEAR(limit(seconds(6), true), 10 * kMb + 3 * 20 * kMb * 0.1, 1);
  EXPECT_NEAR(limit(seconds(60), true), 10 * kMb + kBraking * 20 * kMb * 0.1, 1) << "no more than it brakes";
  EXPECT_NEAR(limit(seconds(1), true), 10 * kMb + 20 * kMb * 0.1, 1) << "a room of few ticks";
}

TEST(RateLaw, TheGeometrySetsTheStrengthOfTheAnswer) {
  const RateDecision above = MakeLaw().Update(Sample({Engine("l0", kSetpoint + 0.05)}), kIdle, Duration(0));
  EXPECT_NEAR(above.bytes_per_second, 10 * kMb - kBraking * 20 * kMb * 0.05, 1);
  const RateDecision below = MakeLaw().Update(Sample({Engine("l0", kSetpoint - 0.1)}), kIdle, Duration(0));
  EXPECT_NEAR(below.bytes_per_second, 10 * kMb + 20 * kMb * 0.1, 1);
}

// Waiting does not empty a cache, so a low setpoint for the engine must not hold the memory down.
TEST(RateLaw, ALowSetpointLeavesASignalAtItsLeastSetpoint) {
  Signal memory = Engine("memory", 0.5);
  memory.least_setpoint = 0.7;
  ControlSettings settings;
  settings.setpoint = 0.2;
  RateLaw law(settings, ProcessVariable::kBottleneck, kTick);
  RateDecision decision = Repeat(law, Sample({memory, Engine("l0", 0.2)}), kPressing, seconds(30));
  EXPECT_EQ(decision.reason, "l0");
  EXPECT_EQ(decision.setpoint, 0.2);
  EXPECT_NEAR(decision.bytes_per_second, 10 * kMb, kMb);
  memory.level = 0.9;
  decision = law.Update(Sample({memory, Engine("l0", 0.1)}), kPressing, kTick);
  EXPECT_EQ(decision.reason, "memory");
  EXPECT_EQ(decision.setpoint, 0.7);
  law.SetSetpoint(0.8);
  EXPECT_EQ(law.Update(Sample({memory}), kPressing, kTick).setpoint, 0.8) << "a higher one holds for it too";
}

TEST(RateLaw, WeightedMemoryKeepsItsShareOfTheLeastSetpoint) {
  ControlSettings settings;
  settings.setpoint = 0.2;
  RateLaw law(settings, ProcessVariable::kWeighted, kTick);
  const RateDecision decision = Repeat(law, Sample({Engine("l0", 0.1)}, 0.6), kPressing, seconds(30));
  EXPECT_NEAR(decision.setpoint, 0.7 * 0.7 + 0.3 * 0.2, 1e-9);
  EXPECT_GT(decision.bytes_per_second, 10 * kMb) << "0.45 is below it";
}

TEST(RateLaw, WithoutGainsItIsOff) {
  RateLaw law = MakeLaw(ProcessVariable::kBottleneck, {.kp = 0, .ki = 0, .kd = 0});
  EXPECT_TRUE(Repeat(law, Sample({Engine("l0", 2)}), kPressing, seconds(1)).open);
}

// Such a loop takes the inflow for the drain, so without P the limit could only go down.
TEST(RateLaw, WithoutPAnUnknownDrainMakesNoLimitBelowTheSetpoint) {
  const auto unknown = [](double level) { return OfUnknownDrain("memory", level); };
  for (const double ki : {0.0, 0.1}) {
    for (const double level : {0.1, 0.4, 0.79}) {
      RateLaw law = MakeLaw(ProcessVariable::kBottleneck, {.kp = 0, .ki = ki, .kd = 0.05});
      EXPECT_TRUE(Repeat(law, Sample({unknown(level)}), kPressing, seconds(5)).open) << level;
      EXPECT_EQ(Repeat(law, Sample({unknown(level), Engine("l0", 0.5)}), kPressing, seconds(5)).reason, "l0");
    }
    RateLaw law = MakeLaw(ProcessVariable::kBottleneck, {.kp = 0, .ki = ki, .kd = 0.05});
    EXPECT_EQ(Repeat(law, Sample({unknown(0.9)}), kPressing, seconds(5)).reason, "memory");
  }
}

// The plant itself: 40 MB of room, drained at 10 MB/s, fed at the limit. The drain is either reported or found by
// balance.
TEST(RateLaw, HoldsAnIntegratorOfAnyToldDrainAtTheSetpoint) {
  for (double told : {10 * kMb, 5 * kMb, 20 * kMb, 0.0}) {
    RateLaw law = MakeLaw();
    double level = 0.5;
    double limit = 0;
    double inflow = 10 * kMb;
    for (int tick = 0; tick < 3000; ++tick) {
      Signal signal = Engine("l0", level);
      signal.drain_bytes_per_second = told;
      const Demand demand{.inflow_bytes_per_second = inflow, .bytes_per_second = inflow, .waited = true};
      limit = law.Update(Sample({signal}), demand, kTick).bytes_per_second;
      inflow = limit;
      level = std::max(0.0, level + (limit - 10 * kMb) / (40 * kMb) * 0.1);
    }
    EXPECT_NEAR(level, kSetpoint, 0.01) << "told " << told;
    EXPECT_NEAR(limit, 10 * kMb, 0.1 * kMb);
  }
}

TEST(RateLaw, TheLimitHasAFloor) {
  RateLaw law = MakeLaw();
  EXPECT_NEAR(Repeat(law, Sample({Engine("l0", 50)}), kPressing, seconds(60)).bytes_per_second, 0.05 * 10 * kMb, 1);
  RateLaw other = MakeLaw();
  EXPECT_EQ(Repeat(other, Sample({OfUnknownDrain("l0", 50)}), kIdle, seconds(60)).bytes_per_second, kLowestLimit);
}

TEST(RateLaw, DemandBelowTheLimitDoesNotRaiseIt) {
  RateLaw law = MakeLaw();
  const LoadSample low = Sample({Engine("l0", 0.6)});
  law.Update(low, kIdle, kTick);
  const double before = law.State().i;
  const double weak = 0.6 * law.Update(low, kIdle, kTick).bytes_per_second;
  Repeat(law, low, {.inflow_bytes_per_second = weak, .bytes_per_second = weak}, seconds(60));
  EXPECT_EQ(law.State().i, before);
  const double strong = 2 * law.Update(low, kIdle, kTick).bytes_per_second;
  Repeat(law, low, {.inflow_bytes_per_second = strong, .bytes_per_second = strong}, seconds(5));
  EXPECT_LT(law.State().i, before) << "pressed against, the limit rises";
}

TEST(RateLaw, ALoopThatTakesOverHasStoredNoIntegral) {
  RateLaw law = MakeLaw();
  // l0 limits for half a minute; memtables are far below the setpoint, where their own loop would let more in.
  const RateDecision before =
      Repeat(law, Sample({Engine("l0", 0.82), Engine("memtables", 0.5)}), kPressing, seconds(30));
  ASSERT_EQ(before.reason, "l0");
  const RateDecision after = law.Update(Sample({Engine("l0", 0.1), Engine("memtables", 0.5)}), kPressing, kTick);
  ASSERT_EQ(after.reason, "memtables");
  EXPECT_NEAR(after.bytes_per_second, (10 + 20 * (kSetpoint - 0.5)) * kMb, 0.5 * kMb);
}

// A buffer fills and is flushed, again and again, far below the setpoint, while l0 limits.
TEST(RateLaw, ALoopThatDoesNotLimitLearnsNoBrake) {
  RateLaw law = MakeLaw();
  Signal memtables = Engine("memtables", 0);
  memtables.drain_bytes_per_second = 40 * kMb;
  for (int tick = 0; tick < 600; ++tick) {
    memtables.level = 0.02 * (tick % 20);
    const RateDecision decision = law.Update(Sample({Engine("l0", kSetpoint), memtables}), kPressing, kTick);
    ASSERT_EQ(decision.reason, "l0") << "tick " << tick;
    ASSERT_NEAR(decision.bytes_per_second, 10 * kMb, 0.1 * kMb);
  }
}

TEST(RateLaw, AnIntegralFromBelowTheSetpointDoesNotDelayTheBrake) {
  RateLaw law = MakeLaw();
  Repeat(law, Sample({Engine("l0", 0.6)}), kPressing, seconds(8));
  const double learned = law.State().i;
  ASSERT_LT(learned, -0.1);
  const RateDecision above = law.Update(Sample({Engine("l0", kSetpoint + 0.05)}), kPressing, kTick);
  EXPECT_LT(above.bytes_per_second, (10 - 20 * learned - kBraking * 20 * 0.05) * kMb + 0.1 * kMb);
}

TEST(RateLaw, TheLowestLimitStoresNoIntegral) {
  RateLaw law = MakeLaw();
  Repeat(law, Sample({Engine("l0", 2)}), kPressing, seconds(60));
  EXPECT_NEAR(law.State().i, 0, 0.05);
}

TEST(RateLaw, AnOpenGateForgetsTheBrake) {
  RateLaw law = MakeLaw();
  Repeat(law, Sample({Engine("l0", 0.83)}), kPressing, seconds(20));
  ASSERT_GT(law.State().i, 0.05);
  Repeat(law, Sample({Engine("l0", 0.1)}), kIdle, seconds(60));
  EXPECT_NEAR(law.State().i, 0, 0.01);
}

TEST(RateLaw, ALevelThatIsNoNumberIsIgnored) {
  for (double odd : {kNan, kInfinity, -kInfinity}) {
    RateLaw law = MakeLaw();
    const RateDecision decision = Repeat(law, Sample({Engine("odd", odd), Engine("l0", 0.9)}), kPressing, seconds(2));
    EXPECT_EQ(decision.reason, "l0");
    EXPECT_TRUE(std::isfinite(decision.bytes_per_second));
  }
}

TEST(RateLaw, AnAbsurdLevelIsForgottenOnceItIsOver) {
  Signal signal = OfUnknownDrain("l0", 0.9);
  RateLaw law = MakeLaw();
  Repeat(law, Sample({signal}), kPressing, seconds(20));
  signal.level = 1e308;
  law.Update(Sample({signal}), kPressing, kTick);
  signal.level = 0.5;
  const RateDecision decision = Repeat(law, Sample({signal}), kPressing, seconds(120));
  EXPECT_NEAR(decision.drain_bytes_per_second, 10 * kMb, kMb);
}

TEST(RateLaw, GeometryThatIsNoNumberDoesNotReachTheLimit) {
  for (double odd : {kNan, kInfinity, -kInfinity, -1.0, 0.0}) {
    Signal no_room = Engine("no room", 0.95);
    no_room.bytes_per_level = odd;
    Signal no_drain = Engine("no drain", 0.9);
    no_drain.drain_bytes_per_second = odd;
    RateLaw law = MakeLaw();
    const RateDecision decision = Repeat(law, Sample({no_room, no_drain}), kPressing, seconds(2));
    EXPECT_EQ(decision.reason, "no drain") << odd;
    EXPECT_TRUE(std::isfinite(decision.bytes_per_second)) << odd;
    EXPECT_GE(decision.bytes_per_second, kLowestLimit) << odd;
  }
}

TEST(RateLaw, ASignalWithoutGeometryOrForReadsOnlyDoesNotAct) {
  Signal shown = Engine("score", 5);
  shown.bytes_per_level = 0;
  Signal reads = Engine("own", 5);
  reads.acts_on_writes = false;
  RateLaw law = MakeLaw();
  EXPECT_TRUE(law.Update(Sample({shown, reads}), kIdle, kTick).open);
  EXPECT_EQ(law.Update(Sample({shown, reads, Engine("l0", 0.9)}), kIdle, kTick).reason, "l0");
}

TEST(RateLaw, ASignalThatAppearsHighIsNoMovement) {
  const Signal signal = OfUnknownDrain("l0", 0.75);
  RateLaw law = MakeLaw();
  Repeat(law, Sample({}), kPressing, seconds(1));
  const RateDecision decision = Repeat(law, Sample({signal}), kPressing, seconds(8));
  EXPECT_GT(decision.drain_bytes_per_second, 8 * kMb) << "a level that stands drains what comes in";
}

TEST(RateLaw, ASignalThatComesBackStartsAnew) {
  RateLaw law = MakeLaw();
  const RateDecision fresh = MakeLaw().Update(Sample({Engine("l0", 0.85)}), kPressing, kTick);
  Repeat(law, Sample({Engine("l0", 0.3), Engine("debt", 0.7)}), kPressing, seconds(60));
  Repeat(law, Sample({Engine("debt", 0.7)}), kPressing, seconds(60));
  law.Update(Sample({Engine("l0", 0.85), Engine("debt", 0.7)}), kPressing, kTick);
  EXPECT_NEAR(law.State().d, 0, 1e-9) << "no kick";
  EXPECT_NEAR(law.State().output, (10 * kMb - fresh.bytes_per_second) / (20 * kMb), 0.02);
}

TEST(RateLaw, GainsScaleTheAnswer) {
  for (double factor : {0.5, 2.0, 4.0}) {
    RateLaw law = MakeLaw(ProcessVariable::kBottleneck, {.kp = 0.5 * factor, .ki = 0, .kd = 0});
    const RateDecision decision = law.Update(Sample({Engine("l0", kSetpoint + 0.01)}), kIdle, kTick);
    EXPECT_NEAR(decision.bytes_per_second, 10 * kMb - factor * kBraking * 20 * kMb * 0.01, 1);
  }
}

TEST(RateLaw, NewGainsActAtOnceAndDoNotMoveTheLimit) {
  RateLaw law = MakeLaw();
  const LoadSample sample = Sample({Engine("l0", 0.81)});
  const double before = Repeat(law, sample, kPressing, seconds(10)).bytes_per_second;
  law.SetGains({.kp = 1, .ki = 0, .kd = 0});
  EXPECT_NEAR(law.Update(sample, kPressing, kTick).bytes_per_second, before, 0.01 * before);
  const double higher = law.Update(Sample({Engine("l0", 0.82)}), kPressing, kTick).bytes_per_second;
  EXPECT_NEAR(before - higher, 2 * kBraking * 20 * kMb * 0.01, 0.01 * kMb);
}

TEST(RateLaw, ANewSetpointGlidesToTheLimitOfALawThatBeganWithIt) {
  for (const double setpoint : {0.75, 0.95}) {
    RateLaw law = MakeLaw(ProcessVariable::kBottleneck, {.kp = 0.5, .ki = 0, .kd = 0});
    const LoadSample sample = Sample({Engine("l0", 0.8)});
    double last = Repeat(law, sample, kPressing, seconds(2)).bytes_per_second;
    law.SetSetpoint(setpoint);
    EXPECT_EQ(law.setpoint(), setpoint);
    ControlSettings settings;
    settings.gains = {.kp = 0.5, .ki = 0, .kd = 0};
    settings.setpoint = setpoint;
    RateLaw other(settings, ProcessVariable::kBottleneck, kTick);
    const double there = Repeat(other, sample, kPressing, seconds(2)).bytes_per_second;
    const double way = std::abs(there - last);
    for (Duration t{}; t < seconds(20); t += kTick) {
      const double next = law.Update(sample, kPressing, kTick).bytes_per_second;
      ASSERT_LE(std::abs(next - last), 0.051 * way);
      last = next;
    }
    EXPECT_NEAR(last, there, 0.01 * way);
  }
}

TEST(RateLaw, GainsThatNoControllerTakesChangeNothing) {
  RateLaw law = MakeLaw();
  RateLaw same = MakeLaw();
  for (double odd : {kNan, kInfinity, -1.0}) law.SetGains({.kp = odd, .ki = 0.1, .kd = 0.05});
  const LoadSample sample = Sample({Engine("l0", 0.95)});
  EXPECT_EQ(Repeat(law, sample, kPressing, seconds(5)).bytes_per_second,
            Repeat(same, sample, kPressing, seconds(5)).bytes_per_second);
}

TEST(RateLaw, WeightedMixesMemoryAndLoadAndSoMissesAFullEngine) {
  RateLaw weighted = MakeLaw(ProcessVariable::kWeighted);
  RateLaw bottleneck = MakeLaw();
  const LoadSample full_engine = Sample({Engine("l0", 2.0)}, /*memory_pressure=*/0.2);
  const RateDecision decision = weighted.Update(full_engine, kIdle, kTick);
  EXPECT_EQ(decision.reason, "weighted");
  EXPECT_NEAR(decision.level, 0.74, 1e-12);
  EXPECT_GT(decision.bytes_per_second, 10 * kMb) << "no throttling, though the engine stands at its stop";
  EXPECT_LT(bottleneck.Update(full_engine, kIdle, kTick).bytes_per_second, kMb);
}

TEST(RateLaw, WeightedWithoutAMemoryFigureDoesNotAct) {
  RateLaw law = MakeLaw(ProcessVariable::kWeighted);
  EXPECT_TRUE(law.Update(Sample({Engine("l0", 0.9)}, kNan), kPressing, kTick).open);
  EXPECT_NEAR(Repeat(law, Sample({Engine("l0", 0.8)}, 0.8), kIdle, kTick).bytes_per_second, 10 * kMb, 1);
}

// The drain of a log that only grows until the next checkpoint is unknown.
TEST(RateLaw, TheHeldLimitOfAnUnknownDrainIsTheLastOrRecentRate) {
  const auto unknown = [](double level) { return Sample({OfUnknownDrain("wal", level)}); };
  RateLaw idle = MakeLaw();
  for (const double level : {0.1, 0.6}) {
    const double limit = Repeat(idle, unknown(level), kIdle, seconds(60)).bytes_per_second;
    ASSERT_GT(limit, kMb);
    EXPECT_EQ(idle.HeldLimit(0), limit) << level;
  }
  RateLaw filling = MakeLaw();
  const Demand demand{.inflow_bytes_per_second = kMb, .bytes_per_second = kMb};
  for (double level = 0.4; level < 0.7; level += kMb / (40 * kMb) * 0.1) filling.Update(unknown(level), demand, kTick);
  EXPECT_EQ(filling.HeldLimit(kMb), kMb);
  RateLaw busy = MakeLaw();
  Repeat(busy, unknown(kSetpoint), kPressing, seconds(60));
  EXPECT_NEAR(busy.HeldLimit(kMb), 9 * kMb, 0.5 * kMb) << "observed, and more than what came in lately";
}

TEST(RateLaw, ResetIsANewLaw) {
  RateLaw law = MakeLaw();
  RateLaw fresh = MakeLaw();
  Repeat(law, Sample({Engine("l0", 1.5)}), kPressing, seconds(30));
  law.Reset();
  EXPECT_EQ(law.State().output, 0);
  const LoadSample sample = Sample({Engine("l0", 0.9)});
  EXPECT_EQ(law.Update(sample, kPressing, kTick).bytes_per_second,
            fresh.Update(sample, kPressing, kTick).bytes_per_second);
}

// Any sample, demand and time give a limit that is a number, at least the lowest, and a reason.
RC_GTEST_PROP(RateLawProperty, AlwaysHasALimitAndAReason, ()) {
  const auto odd = [] {
    return *rc::gen::oneOf(rc::gen::arbitrary<double>(),
                           rc::gen::element(0.0, 0.5, 1.0, 1e6, 1e308, -1e308, kNan, kInfinity));
  };
  const char* const names[] = {"l0", "memtables", "debt", "memory"};
  RateLaw law = MakeLaw(*rc::gen::element(ProcessVariable::kBottleneck, ProcessVariable::kWeighted));
  for (int n = *rc::gen::inRange(1, 40); n > 0; --n) {
    std::vector<Signal> signals;
    for (const char* name : names) {
      if (*rc::gen::inRange(0, 3) == 0) continue;
      signals.push_back({.name = name,
                         .level = odd(),
                         .bytes_per_level = odd(),
                         .dead_time = Duration(*rc::gen::inRange<int64_t>(-1'000'000'000, 100'000'000'000)),
                         .drain_bytes_per_second = odd()});
    }
    const Demand demand{std::abs(odd()), std::abs(odd()), *rc::gen::arbitrary<bool>()};
    const RateDecision decision =
        law.Update(Sample(signals, odd()), demand, Duration(*rc::gen::inRange<int64_t>(0, 10'000'000'000)));
    RC_ASSERT(!std::isnan(decision.bytes_per_second));
    if (decision.open) continue;
    RC_ASSERT(decision.bytes_per_second >= kLowestLimit);
    RC_ASSERT(!decision.reason.empty());
  }
}

}  // namespace
}  // namespace weir
