// LimiterTest: a limiter with scripted load and a clock that the test moves. The test calls the limiter's Tick and Pump
// itself, in place of the limiter's thread.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "config/manual_clock.h"
#include "tests/throttle/scripted_monitor.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class LimiterTest : public testing::Test {
 protected:
  static constexpr Duration kTick = std::chrono::milliseconds(100);

  // Returns a signal with 40 MB from idle to the engine's own brake, a drain of 10 MB/s, and a dead time of 1 s.
  static Signal Engine(std::string_view name, double level) {
    return {.name = name,
            .level = level,
            .bytes_per_level = 40e6,
            .dead_time = std::chrono::seconds(1),
            .drain_bytes_per_second = 10e6};
  }
  static Signal OfUnknownDrain(std::string_view name, double level) {
    Signal signal = Engine(name, level);
    signal.drain_bytes_per_second = 0;
    return signal;
  }
  static Signal ForReads(std::string_view name, double level) {
    return {.name = name, .level = level, .acts_on_writes = false, .acts_on_reads = true};
  }

  AdaptiveLimiter& Build(const LimiterSettings& settings = {}) {
    limiter_.reset();
    return limiter_.emplace(monitor_, settings);
  }

  // Takes one sample, ticks once, and pumps for the time of one tick.
  void Tick() {
    (void)monitor_.SampleOnce();
    TickUnsampled();
  }

  void TickUnsampled() {
    limiter_->Tick();
    const TimePoint end = clock_.Now() + kTick;
    for (TimePoint next = limiter_->Pump(); next <= end; next = limiter_->Pump()) clock_.Set(next);
    clock_.Set(end);
  }

  void Ticks(int n) {
    while (n-- > 0) Tick();
  }

  // Sets the engine's signals from now on.
  void Say(double level, double memory_pressure = 0) { Say(Engine("l0", level), memory_pressure); }
  void Say(const Signal& signal, double memory_pressure = 0) {
    monitor_.Say([=](LoadSample* sample) {
      sample->Add(signal);
      sample->memory_pressure = memory_pressure;
      return Status();
    });
  }
  // From now on the engine cannot be read.
  void LoseSensor() {
    monitor_.Say([](LoadSample*) { return Status::Error("the database is closed"); });
  }

  Admission Write(uint64_t bytes, WorkClass c = WorkClass::kInteractive) {
    return limiter_->Admit(Operation::kWrite, {bytes}, {.id = 1, .work_class = c});
  }
  Admission Read(uint64_t bytes, WorkClass c = WorkClass::kInteractive) {
    return limiter_->Admit(Operation::kRead, {bytes}, {.id = 1, .work_class = c});
  }

  // Lets bulk work ask for a little in each of these ticks.
  void TicksWithBulkWork(int n) {
    while (n-- > 0) {
      (void)Write(1000, WorkClass::kBulk);
      Tick();
    }
  }
  // Returns how many of 10 MB of bulk work pass at this moment.
  uint64_t PassedOfBulk() {
    uint64_t passed = 0;
    for (int n = 0; n < 1000; ++n)
      if (Write(10'000, WorkClass::kBulk).admitted()) passed += 10'000;
    return passed;
  }
  // Returns true if bulk work has no limit: tries two writes that together are larger than any limit admits at once.
  bool BulkPasses() {
    return Write(20'000'000, WorkClass::kBulk).admitted() && Write(20'000'000, WorkClass::kBulk).admitted();
  }

  ManualClock clock_{TimePoint{std::chrono::hours(1)}};
  ScriptedMonitor monitor_{clock_};
  std::optional<AdaptiveLimiter> limiter_;
};

}  // namespace weir
