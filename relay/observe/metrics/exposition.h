// The code for /metrics that the relay and `weir gate` share. CachedText stores a page for a second. ReadProcess and
// AppendProcess report figures of the process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/observe/metrics/metric_families.h"

namespace weir {

// A text that is made again at most once a second, by one thread at a time. Any thread may call any function.
class CachedText {
 public:
  // Returns the text. If there is none, or it is at least a second old at the time `now`, calls `make` for a new text,
  // on this thread. If another thread is calling `make`, returns the previous text at once; if there is no previous
  // text, waits for the new one.
  std::string Get(TimePoint now, const std::function<std::string()>& make);
  // Deletes the text, so that the next Get makes a new one. If a thread is calling `make`, first waits until `make` has
  // returned.
  void Forget();

 private:
  static constexpr Duration kFresh = std::chrono::seconds(1);

  Mutex making_;
  Mutex mutex_;  // never held during `make`
  std::optional<std::string> text_ WEIR_GUARDED_BY(mutex_);
  TimePoint made_at_ WEIR_GUARDED_BY(mutex_){};
};

struct ProcessFigures {
  double cpu_seconds = 0;
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t open_files = 0;  // files and sockets that are open
  uint64_t most_files = 0;  // the number of files and sockets that the process may have open
};
// Returns the figures of this process. A figure that the system does not report is 0.
ProcessFigures ReadProcess();

// Adds the CPU time, memory, open files and start time of this process, under the names that Prometheus' client
// libraries use. `started_at` is in seconds since 1970. Leaves the memory out if the system does not report it.
void AppendProcess(double started_at, MetricFamilies& families);

}  // namespace weir
