// RelayMetrics: what the relay counts, and how it is shown at /metrics and /api/metrics.
//
// Counters and histograms are written by whoever sees the thing happen, from any thread; what other rooms count for
// themselves (server, store, group commit, throttle, RocksDB) is read when somebody asks. Labels are bounded: kinds
// above the known ones are "other", refusal reasons are NIP-01's prefixes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "monitors/postgres/postgres_monitor.h"
#include "monitors/rocksdb_monitor.h"
#include "relay/account/ledger.h"
#include "relay/metrics/exposition.h"
#include "relay/metrics/known_kinds.h"
#include "relay/metrics/metric_families.h"
#include "relay/nostr/messages.h"
#include "relay/server/server.h"
#include "relay/siblings/siblings.h"
#include "relay/store/event_store.h"
#include "relay/store/group_commit.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class Traces;

// What /metrics asks when it is asked; every one may be empty.
struct MetricSources {
  std::function<bool()> ready;  // what /readyz says
  std::function<ServerStats()> server;
  std::function<StoreSizes()> store;
  std::function<GroupCommitStats()> group_commit;
  std::function<uint64_t()> subscriptions;
  std::function<uint64_t()> work_waiting;
  std::string data_dir;
  const AdaptiveLimiter* limiter = nullptr;
  const LoadMonitor* monitor = nullptr;
  const RocksDbMonitor* rocksdb = nullptr;
  const PostgresMonitor* postgres = nullptr;
  const Siblings* siblings = nullptr;
  const Traces* traces = nullptr;
  const Ledger* ledger = nullptr;
  std::function<std::string()> last_failure;            // of a write, in words
  std::function<void(MetricFamilies& families)> parts;  // RelayPart::AppendMetrics
};
void AppendSources(const MetricSources& sources, MetricFamilies& families);

// What the relay says to a client; the label verb of nostr_relay_messages_total.
enum class RelayVerb : uint8_t { kOk, kEvent, kEose, kClosed, kNotice, kCount, kAuth };

class RelayMetrics {
 public:
  // The clock must outlive it.
  explicit RelayMetrics(const Clock& clock = Clock::System());

  void CountClientMessage(Verb verb);
  void CountRelayMessage(RelayVerb verb, uint64_t count = 1);
  void CountSavedEvent(uint16_t kind);
  // An OK false or CLOSED, by its prefix ("invalid", "rate-limited", …).
  void CountRefusal(std::string_view prefix);

  void EventToOk(Duration latency);
  void ReqToEose(Duration latency);
  void LiveDelivery(Duration from_receipt_to_queue);
  void WriteGateWait(Duration waited);
  void ReadGateWait(Duration waited);

  // For displays: what was observed so far.
  struct Latencies {
    prometheus::ClientMetric::Histogram event_to_ok;
    prometheus::ClientMetric::Histogram req_to_eose;
    prometheus::ClientMetric::Histogram live_delivery;
    prometheus::ClientMetric::Histogram write_gate_wait;
    prometheus::ClientMetric::Histogram read_gate_wait;
  };
  Latencies LatenciesSoFar() const;
  std::vector<uint64_t> SavedByKind() const;  // as KindSlot has it
  std::vector<std::pair<std::string_view, uint64_t>> Refusals() const;

  void SetSources(MetricSources sources);
  MetricSources Sources() const;
  // What was made up to a second ago, for it is a walk over all that is counted: so nobody who asks often keeps an I/O
  // thread busy.
  std::string Prometheus() const;  // text format
  std::string Json() const;
  // For people, on a page (state_page.h).
  std::string State(std::string why, Status ready) const;

 private:
  using Counter = std::atomic<uint64_t>;
  // NIP-01's, "replaced" for older versions, and what is none of them.
  static constexpr std::array<std::string_view, 12> kRefusalPrefixes = {
      "duplicate",     "invalid",      "unsupported", "pow",      "blocked", "restricted",
      "auth-required", "rate-limited", "mute",        "replaced", "error",   "other"};
  static constexpr std::array<std::string_view, 7> kRelayVerbs = {"OK",     "EVENT", "EOSE", "CLOSED",
                                                                  "NOTICE", "COUNT", "AUTH"};
  static constexpr size_t kVerbs = static_cast<size_t>(Verb::kUnknown) + 1;

  // Operations a second between two moments at least a second apart.
  class RateMeter {
   public:
    double Update(uint64_t operations, TimePoint now);

   private:
    TimePoint since_{};
    uint64_t operations_ = 0;
    double rate_ = 0;
  };

  std::vector<prometheus::MetricFamily> Families() const;
  std::string MakeJson() const;

  std::array<Counter, kVerbs> client_messages_{};
  std::array<Counter, kRelayVerbs.size()> relay_messages_{};
  std::array<Counter, kKnownKinds.size() + 1> kinds_{};
  std::array<Counter, kRefusalPrefixes.size()> refusals_{};

  LatencyMetric event_to_ok_;
  LatencyMetric req_to_eose_;
  LatencyMetric live_delivery_;
  LatencyMetric write_gate_wait_;
  LatencyMetric read_gate_wait_;

  const Clock& clock_;
  const double started_at_;  // seconds since 1970
  mutable CachedText prometheus_text_;
  mutable CachedText json_text_;

  mutable std::mutex mutex_;  // for what follows
  MetricSources sources_;
  mutable RateMeter reads_;
  mutable RateMeter writes_;
};

}  // namespace weir
