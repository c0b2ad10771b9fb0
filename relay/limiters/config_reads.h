// ConfigReads: counts how often a limiter has read its configuration again, by result, and shows the counts as metrics.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "relay/observe/metrics/metric_families.h"

namespace weir {

class ConfigReads {
 public:
  // Counts one reading. `good` is true if the limiter uses what was read.
  void Note(bool good) {
    (good ? good_reads_ : errors_).fetch_add(1, std::memory_order_relaxed);
    good_.store(good, std::memory_order_relaxed);
  }

  // Adds the metrics to `families`. Their names begin with `limiter`, for example "weir_keyed".
  void AppendTo(MetricFamilies& families, const std::string& limiter) const {
    families.Counter(limiter + "_config_reads_total", "Readings of the configuration file, by result")
        .Add(good_reads_.load(std::memory_order_relaxed), {{"result", "good"}})
        .Add(errors_.load(std::memory_order_relaxed), {{"result", "error"}});
    families
        .Gauge(limiter + "_config_good", "1 while the configuration that runs is what the file says, 0 after an error")
        .Add(good_.load(std::memory_order_relaxed) ? 1.0 : 0.0);
  }

 private:
  std::atomic<uint64_t> good_reads_{0};
  std::atomic<uint64_t> errors_{0};
  std::atomic<bool> good_{true};  // the newest reading succeeded
};

}  // namespace weir
