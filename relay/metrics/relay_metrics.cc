#include "relay/metrics/relay_metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "relay/metrics/state_page.h"
#include "relay/process/version.h"

namespace weir {
namespace {

void CountOne(std::atomic<uint64_t>& counter, uint64_t count = 1) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

uint64_t Read(const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); }

}  // namespace

RelayMetrics::RelayMetrics(const Clock& clock)
    : clock_(clock),
      started_at_(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count()) {}

void RelayMetrics::CountClientMessage(Verb verb) { CountOne(client_messages_[static_cast<size_t>(verb)]); }

void RelayMetrics::CountRelayMessage(RelayVerb verb, uint64_t count) {
  CountOne(relay_messages_[static_cast<size_t>(verb)], count);
}

void RelayMetrics::CountSavedEvent(uint16_t kind) { CountOne(kinds_[KindSlot(kind)]); }

void RelayMetrics::CountRefusal(std::string_view prefix) {
  prefix = prefix.substr(0, prefix.find(':'));
  const auto found = std::ranges::find(kRefusalPrefixes, prefix);
  const bool known = found != kRefusalPrefixes.end();
  CountOne(refusals_[known ? static_cast<size_t>(found - kRefusalPrefixes.begin()) : kRefusalPrefixes.size() - 1]);
}

void RelayMetrics::EventToOk(Duration latency) { event_to_ok_.Observe(latency); }
void RelayMetrics::ReqToEose(Duration latency) { req_to_eose_.Observe(latency); }
void RelayMetrics::LiveDelivery(Duration from_receipt_to_queue) { live_delivery_.Observe(from_receipt_to_queue); }
void RelayMetrics::WriteGateWait(Duration waited) { write_gate_wait_.Observe(waited); }
void RelayMetrics::ReadGateWait(Duration waited) { read_gate_wait_.Observe(waited); }

RelayMetrics::Latencies RelayMetrics::LatenciesSoFar() const {
  return {.event_to_ok = event_to_ok_.Snapshot(),
          .req_to_eose = req_to_eose_.Snapshot(),
          .live_delivery = live_delivery_.Snapshot(),
          .write_gate_wait = write_gate_wait_.Snapshot(),
          .read_gate_wait = read_gate_wait_.Snapshot()};
}

std::vector<uint64_t> RelayMetrics::SavedByKind() const {
  std::vector<uint64_t> saved;
  for (const Counter& kind : kinds_) saved.push_back(Read(kind));
  return saved;
}

std::vector<std::pair<std::string_view, uint64_t>> RelayMetrics::Refusals() const {
  std::vector<std::pair<std::string_view, uint64_t>> refusals;
  for (size_t i = 0; i < refusals_.size(); ++i) refusals.emplace_back(kRefusalPrefixes[i], Read(refusals_[i]));
  return refusals;
}

void RelayMetrics::SetSources(MetricSources sources) {
  {
    std::lock_guard lock(mutex_);
    sources_ = std::move(sources);
  }
  prometheus_text_.Forget();
  json_text_.Forget();
}

MetricSources RelayMetrics::Sources() const {
  std::lock_guard lock(mutex_);
  return sources_;
}

std::vector<prometheus::MetricFamily> RelayMetrics::Families() const {
  MetricFamilies families;
  families.Gauge("weir_build_info", "1, with the versions of the program and its engine as labels")
      .Add(1.0, {{"version", Version()}, {"rocksdb", RocksDbVersion()}});

  families.Counter("nostr_client_messages_total", "Messages from clients, by verb");
  for (size_t i = 0; i < kVerbs; ++i) {
    families.Add(Read(client_messages_[i]), {{"verb", NameOf(static_cast<Verb>(i))}});
  }
  families.Counter("nostr_relay_messages_total", "Messages to clients, by verb");
  for (size_t i = 0; i < kRelayVerbs.size(); ++i) families.Add(Read(relay_messages_[i]), {{"verb", kRelayVerbs[i]}});
  families.Counter("nostr_events_total", "Events saved, by kind; kinds that no NIP names are other");
  for (size_t i = 0; i < kinds_.size(); ++i) {
    const bool known = i < kKnownKinds.size();
    if (const uint64_t count = Read(kinds_[i]); count > 0 || !known)
      families.Add(count, {{"kind", known ? std::to_string(kKnownKinds[i]) : "other"}});
  }
  families.Counter("weir_refusals_total", "OK false and CLOSED, by the prefix of their reason");
  for (size_t i = 0; i < refusals_.size(); ++i) families.Add(Read(refusals_[i]), {{"prefix", kRefusalPrefixes[i]}});

  families.Histogram("weir_event_ok_seconds", "From an EVENT's arrival to its OK").Add(event_to_ok_);
  families.Histogram("weir_req_eose_seconds", "From a REQ's arrival to its EOSE").Add(req_to_eose_);
  families
      .Histogram("weir_live_delivery_seconds",
                 "From an EVENT's arrival to its subscribers' outputs, once for each event and I/O thread")
      .Add(live_delivery_);
  families.Histogram("weir_gate_wait_seconds", "Waiting at the throttle's gate of what it made wait")
      .Add(read_gate_wait_, {{"operation", "read"}})
      .Add(write_gate_wait_, {{"operation", "write"}});

  AppendSources(Sources(), families);
  AppendProcess(started_at_, families);
  return std::move(families).Take();
}

std::string RelayMetrics::Prometheus() const {
  return prometheus_text_.Get(clock_.Now(), [this] { return prometheus::TextSerializer().Serialize(Families()); });
}

std::string RelayMetrics::State(std::string why, Status ready) const {
  return StatePage({.why = std::move(why), .ready = std::move(ready), .started_at = started_at_}, Sources());
}

std::string RelayMetrics::Json() const {
  return json_text_.Get(clock_.Now(), [this] { return MakeJson(); });
}

}  // namespace weir
