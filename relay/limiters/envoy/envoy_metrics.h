// EnvoyMetrics: shows the metrics of Envoy's rate limits. It takes the counts of answers and hits from the limiter.
//
// Threads: any.
#pragma once

#include <array>
#include <string_view>

#include "relay/limiters/config_reads.h"
#include "relay/observe/metrics/live_tables.h"
#include "relay/observe/metrics/metric_families.h"
#include "throttle/limits/descriptors/descriptor_limiter.h"

namespace weir {

// Returns the name of a code, for JSON and for labels of metrics. Names are the same in every version of weir.
std::string_view NameOf(DescriptorAnswer::Code code);

class EnvoyMetrics {
 public:
  // Counts a request that could not be read.
  void OnUnreadable() { unreadable_.fetch_add(1, std::memory_order_relaxed); }
  void OnConfigRead(bool good) { config_reads_.Note(good); }

  void AppendTo(MetricFamilies& families, const DescriptorLimiter& limiter) const;
  void AppendLive(LiveTables& tables, const DescriptorLimiter& limiter) const;

 private:
  std::atomic<uint64_t> unreadable_{0};
  ConfigReads config_reads_;
};

}  // namespace weir
