// DrainEnvelope: smooths a backlog that shrinks by large amounts at once ("gulps") into a level that a control loop can
// use.
//
// RocksDB empties L0, the first level of its tree, by compactions that each take all its files at once. So at a
// constant inflow the backlog is a sawtooth (measured: 3 to 9 files, period 4 to 7 s). The peaks matter, because they
// reach the point at which the engine brakes. The level follows a rise at once. After a gulp it falls evenly over the
// time between two gulps (a cycle): in a steady cycle the level falls as fast as the backlog rises, so it stands still
// at the peak. When the inflow ends, the level comes down to the backlog within one cycle.
//
// Not thread-safe.
#pragma once

#include "config/clock.h"

namespace weir {

class DrainEnvelope {
 public:
  struct Options {
    // The least fall between two updates that counts as a gulp. The level follows a smaller fall at once.
    double gulp_bytes = 0;
    Duration first_cycle{};  // length of a cycle that is assumed until two gulps were seen, and after a pause
    Duration min_cycle = std::chrono::milliseconds(500);
    // A time without a gulp that is longer than this and than four times first_cycle is a pause, not a cycle.
    Duration max_cycle = std::chrono::seconds(30);
  };

  explicit DrainEnvelope(const Options& options);

  // Adds a measurement of the backlog and returns the level, in bytes and never below the backlog. If `now` is not
  // after the last update, no time counts as passed.
  double Update(TimePoint now, double backlog_bytes);

  // Changes the assumed length of a cycle (Options::first_cycle).
  void SetFirstCycle(Duration first_cycle) { options_.first_cycle = first_cycle; }

  // Returns the length of a cycle; before the first gulp this is the assumed length.
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
