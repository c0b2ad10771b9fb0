// The inside of RelayMetrics, shared by the files that show it.
#pragma once

#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/known_kinds.h"
#include "relay/metric_families.h"
#include "relay/relay_metrics.h"

namespace weir {

// NIP-01's, and what is none of them.
inline constexpr std::array<std::string_view, 10> kRefusalPrefixes = {
    "duplicate", "invalid", "pow", "blocked", "restricted", "auth-required", "rate-limited", "mute", "error", "other"};
inline constexpr std::array<std::string_view, 7> kRelayVerbs = {"OK",     "EVENT", "EOSE", "CLOSED",
                                                                "NOTICE", "COUNT", "AUTH"};
inline constexpr size_t kVerbs = static_cast<size_t>(Verb::kUnknown) + 1;

// Operations a second between two moments at least a second apart.
class RateMeter {
 public:
  double Update(uint64_t operations, TimePoint now);

 private:
  TimePoint since_{};
  uint64_t operations_ = 0;
  double rate_ = 0;
};

// A text that is made anew at most once a second, by one thread; others meanwhile have the one before.
class CachedText {
 public:
  std::string Get(TimePoint now, const std::function<std::string()>& make);
  void Forget();

 private:
  static constexpr Duration kFresh = std::chrono::seconds(1);

  std::mutex making_;
  std::mutex mutex_;  // for what follows; held only to read and write it
  std::optional<std::string> text_;
  TimePoint made_at_{};
};

struct RelayMetrics::Rep {
  explicit Rep(const Clock& c) : clock(c) {}

  using Counter = std::atomic<uint64_t>;

  std::array<Counter, kVerbs> client_messages{};
  std::array<Counter, kRelayVerbs.size()> relay_messages{};
  std::array<Counter, kKnownKinds.size() + 1> kinds{};
  std::array<Counter, kRefusalPrefixes.size()> refusals{};

  LatencyHistogram event_to_ok;
  LatencyHistogram req_to_eose;
  LatencyHistogram live_delivery;
  LatencyHistogram write_gate_wait;
  LatencyHistogram read_gate_wait;

  const Clock& clock;
  double started_at = 0;  // seconds since 1970
  mutable CachedText prometheus_text;
  mutable CachedText json_text;

  mutable std::mutex mutex;  // for what follows
  MetricSources sources;
  mutable RateMeter reads;
  mutable RateMeter writes;
  mutable std::optional<StoreSizes> store_sizes;
  mutable TimePoint store_sizes_at{};

  // That of the store answers with what it said up to ten seconds ago.
  MetricSources Sources() const;
  std::vector<prometheus::MetricFamily> Families() const;
};

// relay_metrics_sources.cc: what other rooms count for themselves.
void AppendSources(const MetricSources& sources, MetricFamilies& families);
// relay_metrics_process.cc
void AppendProcess(double started_at, MetricFamilies& families);

}  // namespace weir
