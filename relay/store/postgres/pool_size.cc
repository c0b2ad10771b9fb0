#include "relay/store/postgres/pool_size.h"

#include <algorithm>
#include <utility>

namespace weir {

PoolSize::PoolSize(PoolBounds bounds, TimePoint now)
    : bounds_(bounds), size_(bounds.least), needed_since_(now), window_{.begin = now}, changed_at_(now) {}

void PoolSize::Note(TimePoint now, size_t in_use, size_t waiting) {
  const double seconds = ToSeconds(now - changed_at_);
  window_.used += static_cast<double>(in_use_) * seconds;
  window_.waited += static_cast<double>(waiting_) * seconds;
  changed_at_ = now;
  in_use_ = in_use;
  waiting_ = waiting;
  needed_ = std::max(needed_, in_use);
  if (bounds_.least == bounds_.most && size_ == bounds_.most) return;
  if (window_.skips > 0 && now - window_.begin >= kStalled) window_ = {.begin = now};
  if (IsOver(now - window_.begin)) EndWindow(now);
}

bool PoolSize::IsOver(Duration lasted) const {
  if (lasted >= kLongest) return true;
  if (window_.reads == 0) return waiting_ > 0 && lasted >= kStalled;
  return lasted >= kShortest && window_.reads >= (doubles_ ? kEnoughToDouble : kEnoughReads);
}

void PoolSize::Finished(TimePoint now, size_t in_use, size_t waiting) {
  const bool counts = window_.skips == 0;
  if (counts) ++window_.reads;
  Note(now, in_use, waiting);
  if (!counts && window_.skips > 0 && --window_.skips == 0) window_ = {.begin = now};
}

void PoolSize::EndWindow(TimePoint now) {
  const double seconds = ToSeconds(now - window_.begin);
  const double rate = static_cast<double>(window_.reads) / seconds;
  const double used = window_.used / seconds;
  const double waiting = window_.waited / seconds;
  const size_t size = size_;
  NoteReadTime();
  if (trying_ != Trying::kNothing) JudgeStep(rate, waiting, now);
  ForgetUnneeded(now);
  // After a step that was taken back, `rate` is that of another size.
  if (size_ == size) TryStep(rate, used, waiting, now);
  window_ = {.begin = now, .skips = size_ == size ? 0 : std::max(size_, size)};
}

void PoolSize::NoteReadTime() {
  if (window_.reads == 0) return;
  read_seconds_ = window_.used / static_cast<double>(window_.reads);
  if (shortest_read_seconds_ == 0 || read_seconds_ < shortest_read_seconds_) shortest_read_seconds_ = read_seconds_;
}

void PoolSize::JudgeStep(double rate, double waiting, TimePoint now) {
  const bool is_more = trying_ == Trying::kMore;
  const double best = static_cast<double>(size_) / static_cast<double>(size_before_);
  const double change = rate_before_ > 0 ? rate / rate_before_ : (rate > 0 ? best : 1);
  // If callers wait no longer, the reads are as many as callers ask for, and show nothing.
  const Worth& worth = is_slow_ ? kWhenSlow : kUsually;
  const bool keeps =
      is_more ? waiting <= kWaiting || change - 1 >= worth.more * (best - 1) : 1 - change <= worth.less * (1 - best);
  trying_ = Trying::kNothing;
  if (keeps) {
    ++(is_more ? steps_.up_kept : steps_.down_kept);
    pause_ = kShortestPause;
    turns_ = std::exchange(last_was_more_, is_more) == is_more ? 0 : turns_ + 1;
    if (turns_ > 1) paused_until_ = now + std::min(kShortestPause * (1 << std::min(turns_, 10)), kLongestPause);
    return;
  }
  ++(is_more ? steps_.up_undone : steps_.down_undone);
  size_ = size_before_;
  doubles_ = false;
  next_is_less_ = is_more;
  paused_until_ = now + std::exchange(pause_, std::min(2 * pause_, kLongestPause));
}

void PoolSize::TryStep(double rate, double used, double waiting, TimePoint now) {
  if (now < paused_until_) return;
  if (size_ < bounds_.least) {  // after a Limit
    size_ = bounds_.least;
    return;
  }
  const bool may_grow = waiting > kWaiting && size_ < bounds_.most;
  const bool may_shrink = used >= kNearlyAll * static_cast<double>(size_) && size_ > bounds_.least && rate > 0;
  if (!may_grow && !may_shrink) return;
  const bool is_less = may_shrink && (next_is_less_ || !may_grow);
  next_is_less_ = is_less;
  trying_ = is_less ? Trying::kLess : Trying::kMore;
  is_slow_ = read_seconds_ > kSlow * shortest_read_seconds_;
  rate_before_ = rate;
  size_before_ = size_;
  size_ = is_less ? StepDown() : StepUp();
}

void PoolSize::ForgetUnneeded(TimePoint now) {
  if (now - needed_since_ < kForgetsAfter) return;
  const size_t needed = std::max(needed_, bounds_.least);
  needed_ = in_use_;
  needed_since_ = now;
  shortest_read_seconds_ += kForgotten * (read_seconds_ - shortest_read_seconds_);
  if (needed >= size_ || trying_ != Trying::kNothing) return;
  size_ = needed;
  shortest_read_seconds_ = 0;
  doubles_ = true;
  next_is_less_ = false;
  pause_ = kShortestPause;
  paused_until_ = now;
}

void PoolSize::Limit(size_t size, TimePoint now) {
  size_ = std::clamp<size_t>(size, 1, size_);
  trying_ = Trying::kNothing;
  doubles_ = false;
  paused_until_ = now + kLongestPause;
  window_ = {.begin = now, .skips = size_};
}

size_t PoolSize::StepUp() const {
  return std::min(bounds_.most, size_ + (doubles_ ? size_ : std::max<size_t>(1, size_ / 3)));
}

size_t PoolSize::StepDown() const { return std::max(bounds_.least, size_ - std::max<size_t>(1, size_ / 4)); }

}  // namespace weir
