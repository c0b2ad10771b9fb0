// RelayCounters: the relay's own counts and latencies.
//
// Any thread may call any function. RelayMetrics (relay_metrics.h) shows the counts at /metrics. Clients cannot make
// the number of labels grow: unknown kinds count as "other". Refusals count by the prefix of their reason (NIP-01), and
// those with an unknown prefix as "other".
//
// Every source of relay/protocol includes this header, so it must include neither Prometheus nor the counters of other
// folders.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "relay/nostr/messages.h"
#include "relay/observe/metrics/latency_metric.h"
#include "relay/observe/relay/known_kinds.h"
#include "relay/store/cause.h"

namespace weir {

// The verb of a message from the relay to a client: the label `verb` of nostr_relay_messages_total.
enum class RelayVerb : uint8_t { kOk, kEvent, kEose, kClosed, kNotice, kCount, kAuth, kNegMsg, kNegErr };

class RelayCounters {
 public:
  void CountClientMessage(Verb verb);
  void CountRelayMessage(RelayVerb verb, uint64_t count = 1);
  void CountSavedEvent(uint16_t kind);
  void CountAnswered(bool by_estimate);  // the answer of a COUNT (relay/protocol/counting.h)
  // Counts the NEG-OPENs that are open: `change` is 1 or -1.
  void CountOpenSyncs(int change) { open_syncs_.fetch_add(change, std::memory_order_relaxed); }
  // Counts a refusal (an OK with false, a CLOSED or a NEG-ERR) by the prefix of its reason ("invalid", "rate-limited",
  // …), and by its cause (relay/store/cause.h). Counts an unknown prefix as "other".
  void CountRefusal(std::string_view reason);

  // Each of these functions adds one observation to a histogram.
  void EventToOk(Duration latency);                   // from the arrival of an EVENT
  void ReqToEose(Duration latency);                   // from the arrival of a REQ
  void LiveDelivery(Duration from_receipt_to_queue);  // once for each event and lane in which a subscriber matches
  void WriteGateWait(Duration waited);                // at the throttle's gate for writes, by an event that waited
  void ReadGateWait(Duration waited);

  // Each of these functions returns the counts so far: for each value of the label, the value and its count.
  using Labelled = std::vector<std::pair<std::string_view, uint64_t>>;
  Labelled ClientMessages() const;
  Labelled RelayMessages() const;
  Labelled Refusals() const;
  uint64_t Refusals(Cause cause) const;
  Labelled AnsweredCounts() const;
  int64_t OpenSyncs() const { return open_syncs_.load(std::memory_order_relaxed); }
  // Returns the numbers of saved events so far. The index is that of KindSlot (known_kinds.h).
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
  // The prefixes that NIPs define, "replaced" (a newer version of the event is stored), and "other" for every other
  // prefix.
  static constexpr std::array<std::string_view, 13> kRefusalPrefixes = {
      "duplicate",    "invalid", "unsupported", "pow",    "blocked", "restricted", "auth-required",
      "rate-limited", "mute",    "replaced",    "closed", "error",   "other"};
  static constexpr std::array<std::string_view, 9> kRelayVerbs = {"OK",    "EVENT", "EOSE",    "CLOSED", "NOTICE",
                                                                  "COUNT", "AUTH",  "NEG-MSG", "NEG-ERR"};
  static constexpr size_t kVerbs = static_cast<size_t>(Verb::kUnknown) + 1;

  std::array<Counter, kVerbs> client_messages_{};
  std::array<Counter, kRelayVerbs.size()> relay_messages_{};
  std::array<Counter, kKnownKinds.size() + 1> kinds_{};
  std::array<Counter, kRefusalPrefixes.size()> refusals_{};
  std::array<Counter, kCauses> causes_{};     // counts refusals
  std::array<Counter, 2> answered_counts_{};  // exact ones, estimates
  std::atomic<int64_t> open_syncs_{0};

  LatencyMetric event_to_ok_;
  LatencyMetric req_to_eose_;
  LatencyMetric live_delivery_;
  LatencyMetric write_gate_wait_;
  LatencyMetric read_gate_wait_;
};

}  // namespace weir
