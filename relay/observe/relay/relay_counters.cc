#include "relay/observe/relay/relay_counters.h"

#include <algorithm>

namespace weir {
namespace {

void CountOne(std::atomic<uint64_t>& counter, uint64_t count = 1) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

uint64_t Read(const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); }

}  // namespace

void RelayCounters::CountClientMessage(Verb verb) { CountOne(client_messages_[static_cast<size_t>(verb)]); }

void RelayCounters::CountRelayMessage(RelayVerb verb, uint64_t count) {
  CountOne(relay_messages_[static_cast<size_t>(verb)], count);
}

void RelayCounters::CountSavedEvent(uint16_t kind) { CountOne(kinds_[KindSlot(kind)]); }

void RelayCounters::CountAnswered(bool by_estimate) { CountOne(answered_counts_[by_estimate ? 1 : 0]); }

void RelayCounters::CountRefusal(std::string_view reason) {
  CountOne(causes_[static_cast<size_t>(CauseOfRefusal(reason))]);
  const std::string_view prefix = reason.substr(0, reason.find(':'));
  const auto found = std::ranges::find(kRefusalPrefixes, prefix);
  const bool known = found != kRefusalPrefixes.end();
  CountOne(refusals_[known ? static_cast<size_t>(found - kRefusalPrefixes.begin()) : kRefusalPrefixes.size() - 1]);
}

void RelayCounters::EventToOk(Duration latency) { event_to_ok_.Observe(latency); }
void RelayCounters::ReqToEose(Duration latency) { req_to_eose_.Observe(latency); }
void RelayCounters::LiveDelivery(Duration from_receipt_to_queue) { live_delivery_.Observe(from_receipt_to_queue); }
void RelayCounters::WriteGateWait(Duration waited) { write_gate_wait_.Observe(waited); }
void RelayCounters::ReadGateWait(Duration waited) { read_gate_wait_.Observe(waited); }

RelayCounters::Labelled RelayCounters::ClientMessages() const {
  Labelled messages;
  for (size_t i = 0; i < kVerbs; ++i) messages.emplace_back(NameOf(static_cast<Verb>(i)), Read(client_messages_[i]));
  return messages;
}

RelayCounters::Labelled RelayCounters::RelayMessages() const {
  Labelled messages;
  for (size_t i = 0; i < kRelayVerbs.size(); ++i) messages.emplace_back(kRelayVerbs[i], Read(relay_messages_[i]));
  return messages;
}

RelayCounters::Labelled RelayCounters::Refusals() const {
  Labelled refusals;
  for (size_t i = 0; i < refusals_.size(); ++i) refusals.emplace_back(kRefusalPrefixes[i], Read(refusals_[i]));
  return refusals;
}

uint64_t RelayCounters::Refusals(Cause cause) const { return Read(causes_[static_cast<size_t>(cause)]); }

RelayCounters::Labelled RelayCounters::AnsweredCounts() const {
  return {{"exact", Read(answered_counts_[0])}, {"estimate", Read(answered_counts_[1])}};
}

std::vector<uint64_t> RelayCounters::SavedByKind() const {
  std::vector<uint64_t> saved;
  for (const Counter& kind : kinds_) saved.push_back(Read(kind));
  return saved;
}

RelayCounters::Latencies RelayCounters::LatenciesSoFar() const {
  return {.event_to_ok = event_to_ok_.Snapshot(),
          .req_to_eose = req_to_eose_.Snapshot(),
          .live_delivery = live_delivery_.Snapshot(),
          .write_gate_wait = write_gate_wait_.Snapshot(),
          .read_gate_wait = read_gate_wait_.Snapshot()};
}

}  // namespace weir
