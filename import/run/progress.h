// The text in which an import reports its progress: the line of a terminal that is drawn again and again, and the lines
// of a log. It only turns numbers into text; progress_display.h draws.
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
  Tally tally;               // includes what was read before this run, if it goes on
  uint64_t input_bytes = 0;  // settled bytes of the inputs as they are on disk
  uint64_t total_bytes = 0;  // 0: not known
  ImportConditions conditions;
  // True once something of this run is settled. Before, input_bytes may not be where it begins, and no rate starts from
  // it.
  bool begun = false;
  // Rates over the last few seconds.
  double events_per_s = 0;
  double bytes_per_s = 0;  // bytes of the inputs on disk
};

// Returns nothing if the size or the speed is not known.
std::optional<Duration> Remaining(const ProgressNumbers& progress);

// "[=====>     ]   41 %  115k events  23.0k/s  78.1 MB of 190 MB  ETA 0:31  load 0.62  delay 0.0ms", at most `columns`
// wide: the least important piece is left out first. A problem takes the place of less important pieces.
std::string ProgressBar(const ProgressNumbers& progress, size_t columns);
// "import: 115200 events, 23.0k/s, load=0.62, latency=3.1ms, throttled 12 times (3.1s total), 41 %, ETA 0:31"
std::string ProgressLine(const ProgressNumbers& progress);

// Measures how fast something grows, over the last few seconds; 0 if it shrinks.
class RateWindow {
 public:
  static constexpr Duration kSpan = std::chrono::seconds(5);

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
