// KeyedMetrics: counts the answers of the keyed limiter, and shows the limiter's metrics.
//
// Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "config/clock.h"
#include "relay/limiters/config_reads.h"
#include "relay/observe/metrics/metric_families.h"
#include "throttle/limits/keyed/keyed_limiter.h"

namespace weir {

inline constexpr size_t kKeyedCodes = static_cast<size_t>(KeyedCode::kClosed) + 1;
// Returns the name of a code, for JSON and for labels of metrics. Names are the same in every version of weir.
std::string_view NameOf(KeyedCode code);

class KeyedMetrics {
 public:
  void OnAnswer(const KeyedAnswer& answer) {
    Count(answers_[static_cast<size_t>(answer.code)]);
    if (answer.code == KeyedCode::kGranted && answer.waited > Duration{}) waits_.Observe(answer.waited);
  }
  void OnInvalidRequest() { Count(invalid_); }
  void OnClientLeft() { Count(client_left_); }
  void OnGivenBack(bool was_granted) { Count(was_granted ? given_back_ : not_given_back_); }
  void OnConfigRead(bool good) { config_reads_.Note(good); }

  // Adds the metrics. `shared` is the health of the store that shares the windows among servers, if there is one.
  void AppendTo(MetricFamilies& families, const KeyedCounts& counts,
                const std::optional<SharedWindowsHealth>& shared = std::nullopt) const;

 private:
  using Counter = std::atomic<uint64_t>;
  static void Count(Counter& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

  std::array<Counter, kKeyedCodes> answers_{};
  Counter invalid_{0};
  Counter client_left_{0};
  Counter given_back_{0};
  Counter not_given_back_{0};
  ConfigReads config_reads_;
  LatencyMetric waits_;
};

}  // namespace weir
