// Timeline: sums over time in at most kMostSpans equal spans. A span is a second at first, and twice as long whenever
// the time no longer fits. So it takes the same memory for a minute and for a year.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/advise/log_line.h"

namespace weir {

struct TimelineSpan {
  double delayed_seconds = 0;  // RocksDB's conditions for delaying writes held, and none for stopping them
  double stopped_seconds = 0;
  double written_bytes = 0;  // bytes on disk of the flushes, over the time in which the program wrote them
  double compacted_bytes = 0;
  double most_l0_files = -1;  // is the highest, not a sum; -1: not known, because no job ended

  // Adds a share of the sums of `other`.
  void Add(const TimelineSpan& other, double share = 1);
};

class Timeline {
 public:
  static constexpr size_t kMostSpans = 1024;

  // Sets the moment at which the first span begins. Call it before Add.
  void SetBegin(LogTime at) { begin_ = at; }
  // Adds the amounts evenly to the time between the two moments. A moment before the begin counts as the begin.
  void Add(LogTime from, LogTime until, const TimelineSpan& amounts);

  LogTime begin() const { return begin_; }
  LogTime BeginOf(size_t span) const { return begin_ + span_ * static_cast<int64_t>(span); }
  double span_seconds() const { return LogSeconds(span_); }
  const std::vector<TimelineSpan>& spans() const { return spans_; }

 private:
  size_t IndexOf(LogTime at) const { return static_cast<size_t>((at - begin_) / span_); }
  void Halve();

  LogTime begin_{};
  LogTime span_ = std::chrono::seconds(1);
  std::vector<TimelineSpan> spans_;
};

}  // namespace weir
