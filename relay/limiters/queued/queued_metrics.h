// QueuedMetrics: counts the answers of the endpoints that queue, and shows their metrics.
//
// Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "config/clock.h"
#include "relay/limiters/config_reads.h"
#include "relay/observe/metrics/metric_families.h"
#include "throttle/limits/queued/queued_limiter.h"

namespace weir {

inline constexpr size_t kQueuedCodes = static_cast<size_t>(QueuedCode::kClosed) + 1;
// Returns the name of a code, for JSON and for labels of metrics. Names are the same in every version of weir.
std::string_view NameOf(QueuedCode code);

class QueuedMetrics {
 public:
  void OnAnswer(const QueuedAnswer& answer) {
    Count(answers_[static_cast<size_t>(answer.code)]);
    if (answer.code == QueuedCode::kServed && answer.waited > Duration{}) waits_.Observe(answer.waited);
  }
  void OnInvalidRequest() { Count(invalid_); }
  void OnClientLeft() { Count(client_left_); }
  void OnConfigRead(bool good) { config_reads_.Note(good); }

  void AppendTo(MetricFamilies& families, const QueuedCounts& counts) const;

 private:
  using Counter = std::atomic<uint64_t>;
  static void Count(Counter& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

  std::array<Counter, kQueuedCodes> answers_{};
  Counter invalid_{0};
  Counter client_left_{0};
  ConfigReads config_reads_;
  LatencyMetric waits_;
};

}  // namespace weir
