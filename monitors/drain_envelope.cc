#include "monitors/drain_envelope.h"

#include <algorithm>

namespace weir {
namespace {

// A disk that slows down to a third makes the cycles of RocksDB's default geometry 60 s long instead of 20 s. When the
// level came down within 30 s, it fell by a third in each cycle and the loop never settled.
constexpr int kFirstCyclesToPause = 4;

}  // namespace

DrainEnvelope::DrainEnvelope(const Options& options) : options_(options) {}

double DrainEnvelope::Update(TimePoint now, double backlog_bytes) {
  if (!started_) {
    started_ = true;
    last_update_ = now;
    backlog_ = backlog_bytes;
    return backlog_bytes;
  }
  if (now > last_update_) {
    held_ = std::max(0.0, held_ - release_per_s_ * ToSeconds(now - last_update_));
    last_update_ = now;
  }
  const double fall = backlog_ - backlog_bytes;
  if (fall >= options_.gulp_bytes && fall > 0) Gulp(now, fall);
  backlog_ = backlog_bytes;
  return backlog_ + held_;
}

void DrainEnvelope::Gulp(TimePoint now, double bytes) {
  const Duration newest = now - last_gulp_;
  const bool paused = !gulped_ || newest > MaxCycle();
  // Short and long cycles alternate. If the level fell at the pace of the short cycle, it would jump in the long one.
  cycle_ = paused ? options_.first_cycle : measured_ ? (cycle_ + newest) / 2 : newest;
  measured_ = !paused;
  cycle_ = std::clamp(cycle_, options_.min_cycle, MaxCycle());
  gulped_ = true;
  last_gulp_ = now;
  held_ += bytes;
  release_per_s_ = held_ / ToSeconds(cycle_);
}

Duration DrainEnvelope::MaxCycle() const {
  return std::max(options_.max_cycle, kFirstCyclesToPause * options_.first_cycle);
}

}  // namespace weir
