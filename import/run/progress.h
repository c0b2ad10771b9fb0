// Makes the texts that show the progress of an import: the line that is redrawn on a terminal, and the lines of a log.
// progress_display.h prints them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "config/clock.h"
#include "import/settled.h"

namespace weir {

struct ProgressNumbers {
  Tally tally;                  // counts of lines; if the import resumed, includes those of the earlier runs
  uint64_t input_bytes = 0;     // bytes on disk, of all inputs, whose lines are settled (import/settled.h)
  uint64_t total_bytes = 0;     // size of all inputs on disk, in bytes; 0: not known
  ImportConditions conditions;  // import/settled.h
  // True once a chunk of this run is settled. Before that, input_bytes may be wrong, so no rate is computed from it.
  bool begun = false;
  double events_per_s = 0;  // mean of the last 5 seconds; 0: not known
  double bytes_per_s = 0;   // rate of input_bytes, mean of the last 5 seconds; 0: not known
};

// Returns the time that the rest of the import will take; nullopt if the size or the rate is not known, or if the time
// is more than 100 hours.
std::optional<Duration> Remaining(const ProgressNumbers& progress);

// Returns "[=====>     ]   41 %  115k events  23.0k/s  78.1 MB of 190 MB  ETA 0:31  load 0.62  delay 0.0ms", and behind
// it the number of rejected lines if there are any. If the text is wider than `columns`, leaves out the less important
// parts; below 70 columns it has no bar. While there is a problem, the text has only the bar, the percentage and the
// problem. If the total size is not known, it has no bar and no percentage.
std::string ProgressBar(const ProgressNumbers& progress, size_t columns);
// Returns "import: 115200 events, 23.0k/s, load=0.62, latency=3.1ms, throttled 12 times (3.1s total), 41 %, ETA 0:31".
std::string ProgressLine(const ProgressNumbers& progress);

// RateWindow: computes how fast two counts have grown during the last kSpan. A rate is 0 before the second Add, or if
// the count shrank.
class RateWindow {
 public:
  static constexpr Duration kSpan = std::chrono::seconds(5);

  // Adds the counts at the time `now`.
  void Add(TimePoint now, uint64_t events, uint64_t bytes);
  double events_per_s() const;
  double bytes_per_s() const;

 private:
  struct Sample {
    TimePoint time;
    uint64_t events;
    uint64_t bytes;
  };
  double PerSecond(uint64_t Sample::*what) const;

  std::deque<Sample> samples_;
};

}  // namespace weir
