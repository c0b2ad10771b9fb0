// Shared by all servers to show their figures: a text that is kept for a second, and the figures of the process.
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

// A text that is made anew at most once a second, by one thread; meanwhile other threads get the previous one.
class CachedText {
 public:
  std::string Get(TimePoint now, const std::function<std::string()>& make);
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
  uint64_t open_files = 0;
  uint64_t most_files = 0;  // limit of open_files
};
// Returns the figures of this process; 0 for a figure that the system does not tell.
ProcessFigures ReadProcess();

// CPU, memory, files and start of the process, under the names that every Prometheus client library gives them.
void AppendProcess(double started_at, MetricFamilies& families);

}  // namespace weir
