// DrainEnvelope: smooths a backlog that shrinks by large amounts at once ("gulps") into a level that a control loop can
// use.
//
// For example, a compaction of L0, the first level of RocksDB's tree, takes all files of L0 at once. So at a constant
// inflow the backlog in L0 rises and falls like a sawtooth (measured: 3 to 9 files, period 4 to 7 s). The peaks matter,
// because they are nearest to the point at which the engine brakes. The level follows a rise at once. After a gulp the
// level does not drop, but the part of it above the backlog decreases evenly over the time between two gulps (a cycle).
// In a steady state this part decreases as fast as the backlog rises, so the level stays at the peak. When the inflow
// ends, the level comes down to the backlog within one cycle.
//
// Not thread-safe.
#pragma once

#include "config/clock.h"

namespace weir {

class DrainEnvelope {
 public:
  struct Options {
    // The smallest fall of the backlog between two updates that counts as a gulp. The level follows a smaller fall at
    // once.
    double gulp_bytes = 0;
    Duration first_cycle{};  // length of a cycle that is assumed before the second gulp, and after a pause
    Duration min_cycle = std::chrono::milliseconds(500);
    // A time without a gulp is a pause, not a cycle, if it is longer than max_cycle and longer than four times
    // first_cycle.
    Duration max_cycle = std::chrono::seconds(30);
  };

  explicit DrainEnvelope(const Options& options);

  // Adds a measurement of the backlog and returns the level, in bytes and never below the backlog. If `now` is not
  // after the last update, no time counts as passed.
  double Update(TimePoint now, double backlog_bytes);

  // Changes the assumed length of a cycle (Options::first_cycle).
  void SetFirstCycle(Duration first_cycle) { options_.first_cycle = first_cycle; }

  // Returns the length of a cycle; before the second gulp this is the assumed length.
  Duration cycle() const { return gulped_ ? cycle_ : options_.first_cycle; }

 private:
  void Gulp(TimePoint now, double bytes);
  Duration MaxCycle() const;

  Options options_;
  bool started_ = false;
  bool gulped_ = false;
  TimePoint last_update_{};
  TimePoint last_gulp_{};
  double backlog_ = 0;
  double held_ = 0;  // bytes by which the level is above the backlog
  double release_per_s_ = 0;
  Duration cycle_{};
  bool measured_ = false;  // true if the cycle was measured between gulps, not assumed
};

}  // namespace weir
