// RelayMetrics: what the relay counts, and how it is shown at /metrics and /api/metrics.
//
// Counters and histograms are written by whoever sees the thing happen, from any thread; what other rooms count for
// themselves (server, store, group commit, throttle, RocksDB) is read when somebody asks. Labels are bounded: kinds
// above the known ones are "other", refusal reasons are NIP-01's prefixes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "monitors/rocksdb_monitor.h"
#include "relay/nostr/messages.h"
#include "relay/server/server.h"
#include "relay/store/event_store.h"
#include "relay/store/group_commit.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class MetricFamilies;

// What /metrics asks when it is asked; every one may be empty.
struct MetricSources {
  std::function<ServerStats()> server;
  std::function<StoreSizes()> store;
  std::function<GroupCommitStats()> group_commit;
  std::function<uint64_t()> subscriptions;
  std::function<uint64_t()> work_waiting;
  const AdaptiveLimiter* limiter = nullptr;
  const RocksDbMonitor* monitor = nullptr;
  std::function<void(MetricFamilies& families)> parts;  // RelayPart::AppendMetrics
};

// What the relay says to a client; the label verb of nostr_relay_messages_total.
enum class RelayVerb : uint8_t { kOk, kEvent, kEose, kClosed, kNotice, kCount, kAuth };

class RelayMetrics {
 public:
  // The clock must outlive it.
  explicit RelayMetrics(const Clock& clock = Clock::System());
  ~RelayMetrics();

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

  void SetSources(MetricSources sources);
  // What was made up to a second ago; the store's sizes up to ten, for they are a walk over its files. So nobody who
  // asks often keeps an I/O thread busy.
  std::string Prometheus() const;  // text format
  std::string Json() const;

 private:
  struct Rep;
  std::string MakeJson() const;

  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
