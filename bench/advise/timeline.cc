#include "bench/advise/timeline.h"

#include <algorithm>

namespace weir {

void TimelineSpan::Add(const TimelineSpan& other, double share) {
  delayed_seconds += share * other.delayed_seconds;
  stopped_seconds += share * other.stopped_seconds;
  written_bytes += share * other.written_bytes;
  compacted_bytes += share * other.compacted_bytes;
  most_l0_files = std::max(most_l0_files, other.most_l0_files);
}

void Timeline::Add(LogTime from, LogTime until, const TimelineSpan& amounts) {
  from = std::max(from, begin_);
  until = std::max(until, from);
  while (IndexOf(until) >= kMostSpans) Halve();
  if (spans_.size() <= IndexOf(until)) spans_.resize(IndexOf(until) + 1);
  const double all = LogSeconds(until - from);
  for (size_t i = IndexOf(from); i <= IndexOf(until); ++i) {
    const double within = LogSeconds(std::min(until, BeginOf(i + 1)) - std::max(from, BeginOf(i)));
    spans_[i].Add(amounts, all > 0 ? within / all : 1);
  }
}

void Timeline::Halve() {
  span_ *= 2;
  for (size_t i = 0; i < spans_.size(); ++i) {
    if (i % 2 == 0)
      spans_[i / 2] = spans_[i];
    else
      spans_[i / 2].Add(spans_[i]);
  }
  spans_.resize((spans_.size() + 1) / 2);
}

}  // namespace weir
