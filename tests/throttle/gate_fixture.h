// Fixtures for gates on a clock that the test moves.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "config/manual_clock.h"
#include "throttle/scan_gate.h"
#include "throttle/write_gate.h"

namespace weir {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kMillion = 1e6;

inline Party Interactive(uint64_t id = 1) { return {.id = id, .work_class = WorkClass::kInteractive}; }
inline Party Bulk(uint64_t id = 2) { return {.id = id, .work_class = WorkClass::kBulk}; }

// Returns limits of 1 MB/s for each class, with a burst of 100 kB.
inline WriteLimits Pacing(double interactive_rate = kMillion, double bulk_rate = kMillion, double burst = 1e5) {
  WriteLimits limits;
  limits.open = false;
  limits.burst_bytes = burst;
  limits[WorkClass::kInteractive] = {.bytes_per_second = interactive_rate, .longest_wait = seconds(1), .reason = "l0"};
  limits[WorkClass::kBulk] = {.bytes_per_second = bulk_rate, .longest_wait = seconds(60), .reason = "debt"};
  return limits;
}

// Returns limits that allow at most this many reads of at least 1000 bytes at once.
inline ScanLimits Slots(int64_t at_once) {
  ScanLimits limits;
  limits.open = false;
  limits.at_once = at_once;
  limits.scan_bytes = 1000;
  limits[WorkClass::kInteractive] = {.longest_wait = seconds(1), .reason = "l0"};
  limits[WorkClass::kBulk] = {.longest_wait = seconds(60), .reason = "debt"};
  return limits;
}

template <typename AnyGate>
class GateFixture : public testing::Test {
 protected:
  // Advances the clock by `total`, and pumps the gate at each time that the gate asks for, as the limiter's thread
  // does.
  void Run(Duration total) {
    const TimePoint end = clock_.Now() + total;
    TimePoint next = gate_.Pump();
    while (next <= end) {
      ASSERT_GT(next, clock_.Now()) << "a pump that asks for itself at once would spin";
      clock_.Set(next);
      next = gate_.Pump();
      ++pumps_;
    }
    clock_.Set(end);
    gate_.Pump();
  }

  // Returns how many requests in a row are admitted at this moment.
  int AdmittedNow(Party party, uint64_t bytes, int most = 100'000) {
    for (int n = 0; n < most; ++n) {
      if (!gate_.Admit({bytes}, party).admitted()) return n;
    }
    return most;
  }

  // Asks for the same again and again. Returns all answers.
  std::vector<Admission> Ask(int times, uint64_t bytes, Party party) {
    std::vector<Admission> asked;
    for (int n = 0; n < times; ++n) asked.push_back(gate_.Admit({bytes}, party));
    return asked;
  }

  double Passed(WorkClass c) const { return static_cast<double>(gate_.Admitted(c).bytes); }

  ManualClock clock_{TimePoint{hours(1)}};
  std::vector<TimePoint> wakes_;
  int pumps_ = 0;
  AnyGate gate_{clock_, [this](TimePoint when) { wakes_.push_back(when); }};
};

class ScanGateTest : public GateFixture<ScanGate> {
 protected:
  Admission Scan(Party party = Interactive()) { return gate_.Admit({5000}, party); }
  Admission CheapRead(Party party = Interactive()) { return gate_.Admit({999}, party); }
};

class WriteGateTest : public GateFixture<WriteGate> {
 protected:
  // Uses up the tokens, so that every further request has to wait.
  void Exhaust(const WriteLimits& limits = Pacing()) {
    gate_.SetLimits(limits);
    AdmittedNow(Interactive(), 1000);
    gate_.TakePressed(WorkClass::kInteractive);
  }
};

using GateWaitTest = WriteGateTest;

}  // namespace weir
