// Code for /metrics that relay and gate share: CachedText keeps a page for a second, and ReadProcess reads figures of
// the process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "config/clock.h"
#include "relay/metrics/metric_families.h"

namespace weir {

// A text that is made again at most once a second, by one thread at a time. Any thread may use it.
class CachedText {
 public:
  // Returns the text. If the text is at least a second old, calls `make` for a new one, on this thread. While another
  // thread makes one, returns the previous text at once, or waits if there is none.
  std::string Get(TimePoint now, const std::function<std::string()>& make);
  // Forgets the text, so that the next Get makes a new one. Waits for a `make` that is running.
  void Forget();

 private:
  static constexpr Duration kFresh = std::chrono::seconds(1);

  std::mutex making_;
  std::mutex mutex_;  // guards the members below; held only to read and write them
  std::optional<std::string> text_;
  TimePoint made_at_{};
};

struct ProcessFigures {
  double cpu_seconds = 0;
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t open_files = 0;  // files and sockets that are open
  uint64_t most_files = 0;  // the limit of open_files
};
// Returns the figures of this process. A figure that the system does not report is 0.
ProcessFigures ReadProcess();

// Adds the CPU time, memory, open files and start of this process, under the names that every Prometheus client library
// uses. `started_at` is in seconds since 1970. Leaves the memory out if the system does not report it.
void AppendProcess(double started_at, MetricFamilies& families);

}  // namespace weir
