// ConfigReads: counts the readings of a limiter's configuration file, for the metrics.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "relay/metrics/metric_families.h"

namespace weir {

class ConfigReads {
 public:
  // Counts a reading; `good` is false if it ended in an error.
  void Note(bool good) {
    (good ? good_reads_ : errors_).fetch_add(1, std::memory_order_relaxed);
    good_.store(good, std::memory_order_relaxed);
  }

  // Adds the metrics. Their names begin with `limiter`: "weir_keyed" and the like.
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
  std::atomic<bool> good_{true};  // the newest reading was good
};

}  // namespace weir
