// Turns a backlog that is drained in gulps into a level that a control loop can use.
//
// RocksDB empties L0 by compactions that each take all its files at once, so at a constant inflow the backlog is a
// sawtooth (measured: 3 to 9 files, period 4 to 7 s). Its upper edge matters, for that is what meets the engine's
// trigger. So a rise counts at once, and the bytes that a gulp takes away are released evenly over the length of one
// cycle: in a steady cycle they fall as fast as the backlog rises, so the level stands still at the peak, and when the
// inflow ends the level is down at the backlog one cycle later.
#pragma once

#include "config/clock.h"

namespace weir {

class DrainEnvelope {
 public:
  struct Options {
    double gulp_bytes = 0;  // a fall of at least this much between two updates is a gulp; a smaller fall counts at once
    Duration first_cycle{};  // assumed until two gulps were seen, and after a pause
    Duration min_cycle = std::chrono::milliseconds(500);
    Duration max_cycle = std::chrono::seconds(30);  // or four first cycles if that is longer; a longer time is a pause
  };

  explicit DrainEnvelope(const Options& options);

  // Returns the level, in the backlog's unit and never below the backlog. Releases nothing while the time stands still
  // or goes back.
  double Update(TimePoint now, double backlog_bytes);

  // Corrects the assumed cycle when a better figure is known.
  void SetFirstCycle(Duration first_cycle) { options_.first_cycle = first_cycle; }

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
  double held_ = 0;  // bytes taken by gulps and not yet released
  double release_per_s_ = 0;
  Duration cycle_{};
  bool measured_ = false;  // the cycle was measured between gulps, not assumed
};

}  // namespace weir
