// RelayCounters: the relay's own counts and latencies.
//
// The code that sees something happen counts it here, from any thread; RelayMetrics (relay_metrics.h) shows the counts.
// Labels are bounded: unknown kinds are "other", refusal reasons are NIP-01's prefixes.
//
// Every source of relay/protocol includes this: it must not include what other rooms count, nor Prometheus.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "relay/metrics/known_kinds.h"
#include "relay/metrics/latency_metric.h"
#include "relay/nostr/messages.h"

namespace weir {

// A message to a client has one of these verbs: the label verb of nostr_relay_messages_total.
enum class RelayVerb : uint8_t { kOk, kEvent, kEose, kClosed, kNotice, kCount, kAuth };

class RelayCounters {
 public:
  void CountClientMessage(Verb verb);
  void CountRelayMessage(RelayVerb verb, uint64_t count = 1);
  void CountSavedEvent(uint16_t kind);
  // Counts an OK false or CLOSED by its prefix ("invalid", "rate-limited", …).
  void CountRefusal(std::string_view prefix);

  void EventToOk(Duration latency);
  void ReqToEose(Duration latency);
  void LiveDelivery(Duration from_receipt_to_queue);
  void WriteGateWait(Duration waited);
  void ReadGateWait(Duration waited);

  // These return what was counted so far, each with the value of its label.
  using Labelled = std::vector<std::pair<std::string_view, uint64_t>>;
  Labelled ClientMessages() const;
  Labelled RelayMessages() const;
  Labelled Refusals() const;
  // Returns a count for each slot that KindSlot has.
  std::vector<uint64_t> SavedByKind() const;

  struct Latencies {
    LatencySnapshot event_to_ok;
    LatencySnapshot req_to_eose;
    LatencySnapshot live_delivery;
    LatencySnapshot write_gate_wait;
    LatencySnapshot read_gate_wait;
  };
  Latencies LatenciesSoFar() const;

 private:
  using Counter = std::atomic<uint64_t>;
  // The prefixes are NIP-01's, "replaced" for older versions, and "other" for all that is none of them.
  static constexpr std::array<std::string_view, 12> kRefusalPrefixes = {
      "duplicate",     "invalid",      "unsupported", "pow",      "blocked", "restricted",
      "auth-required", "rate-limited", "mute",        "replaced", "error",   "other"};
  static constexpr std::array<std::string_view, 7> kRelayVerbs = {"OK",     "EVENT", "EOSE", "CLOSED",
                                                                  "NOTICE", "COUNT", "AUTH"};
  static constexpr size_t kVerbs = static_cast<size_t>(Verb::kUnknown) + 1;

  std::array<Counter, kVerbs> client_messages_{};
  std::array<Counter, kRelayVerbs.size()> relay_messages_{};
  std::array<Counter, kKnownKinds.size() + 1> kinds_{};
  std::array<Counter, kRefusalPrefixes.size()> refusals_{};

  LatencyMetric event_to_ok_;
  LatencyMetric req_to_eose_;
  LatencyMetric live_delivery_;
  LatencyMetric write_gate_wait_;
  LatencyMetric read_gate_wait_;
};

}  // namespace weir
