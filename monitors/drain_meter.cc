#include "monitors/drain_meter.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir {
namespace {

// This time is short enough to follow a disk that slows down, and long enough to average over the unequal compactions
// of L0 (1.5 to 5 s each).
constexpr double kForgetSeconds = 8;
constexpr double kGulpsToRemember = 2;

}  // namespace

double DrainMeter::ForgetSeconds() const { return std::max(kForgetSeconds, kGulpsToRemember * gulp_s_); }

void DrainMeter::Busy(Duration stretch) {
  if (stretch > Duration::zero()) pending_s_ += ToSeconds(stretch);
}

void DrainMeter::Drained(double bytes) {
  if (!(bytes > 0)) return;
  if (std::exchange(skips_, false)) {
    pending_s_ = 0;
    return;
  }
  gulp_bytes_ = measured_ ? (gulp_bytes_ + bytes) / 2 : bytes;
  gulp_s_ = measured_ ? (gulp_s_ + pending_s_) / 2 : pending_s_;
  measured_ = true;
  const double forget_s = ForgetSeconds();
  const double keep = std::exp(-pending_s_ / forget_s);
  // The gulp's bytes were drained evenly over the busy time before it, so both sums forget the same share of the gulp.
  const double weight = pending_s_ > 0 ? forget_s * (1 - keep) / pending_s_ : 1;
  bytes_ = bytes_ * keep + bytes * weight;
  seconds_ = seconds_ * keep + pending_s_ * weight;
  prior_s_ *= std::exp(-pending_s_ / kPriorSeconds);
  pending_s_ = 0;
}

// Changes the time of a usual gulp but not its bytes, and the bytes of the sums but not their time.
void DrainMeter::Scale(double factor) {
  if (!(factor > 0) || !std::isfinite(factor)) return;
  prior_ *= factor;
  bytes_ *= factor;
  gulp_s_ /= factor;
  pending_s_ /= factor;
}

double DrainMeter::BytesPerSecond() const {
  if (!measured_) return prior_;
  const double bytes = bytes_ + prior_ * prior_s_;
  const double seconds = seconds_ + prior_s_;
  const double rate = bytes / seconds;
  if (pending_s_ <= 0) return rate;
  // The second value is the rate if a usual gulp ended now. It is below the last rate as soon as that gulp is overdue.
  return std::min(rate, (bytes + gulp_bytes_) / (seconds + pending_s_));
}

}  // namespace weir
