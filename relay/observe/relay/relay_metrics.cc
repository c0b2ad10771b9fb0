#include "relay/observe/relay/relay_metrics.h"

#include <prometheus/text_serializer.h>

#include <chrono>
#include <string>
#include <utility>

#include "relay/observe/relay/known_kinds.h"
#include "relay/observe/relay/relay_state.h"
#include "relay/process/version.h"

namespace weir {

RelayMetrics::RelayMetrics(const Clock& clock)
    : clock_(clock),
      started_at_(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count()) {}

void RelayMetrics::SetSources(MetricSources sources) {
  {
    const MutexLock lock(mutex_);
    sources_ = std::move(sources);
  }
  prometheus_text_.Forget();
  json_text_.Forget();
}

MetricSources RelayMetrics::Sources() const {
  const MutexLock lock(mutex_);
  return sources_;
}

std::vector<prometheus::MetricFamily> RelayMetrics::Families() const {
  MetricFamilies families;
  families.Gauge("weir_build_info", "1, with the versions of the program and its engine as labels")
      .Add(1.0, {{"version", Version()}, {"rocksdb", RocksDbVersion()}});

  families.Counter("nostr_client_messages_total", "Messages from clients, by verb");
  for (const auto& [verb, count] : counters_.ClientMessages()) families.Add(count, {{"verb", verb}});
  families.Counter("nostr_relay_messages_total", "Messages to clients, by verb");
  for (const auto& [verb, count] : counters_.RelayMessages()) families.Add(count, {{"verb", verb}});
  families.Counter("nostr_events_total", "Events saved, by kind; kinds that no NIP names are other");
  const std::vector<uint64_t> kinds = counters_.SavedByKind();
  for (size_t i = 0; i < kinds.size(); ++i) {
    const bool known = i < kKnownKinds.size();
    if (kinds[i] > 0 || !known) families.Add(kinds[i], {{"kind", known ? std::to_string(kKnownKinds[i]) : "other"}});
  }
  families.Counter("weir_refusals_total", "OK false and CLOSED, by the prefix of their reason");
  for (const auto& [prefix, count] : counters_.Refusals()) families.Add(count, {{"prefix", prefix}});

  const RelayCounters::Latencies latencies = counters_.LatenciesSoFar();
  families.Histogram("weir_event_ok_seconds", "Time from an EVENT's arrival to its OK").Add(latencies.event_to_ok);
  families.Histogram("weir_req_eose_seconds", "Time from a REQ's arrival to its EOSE").Add(latencies.req_to_eose);
  families
      .Histogram(
          "weir_live_delivery_seconds",
          "Time from an EVENT's arrival to its subscribers' outputs, once for each event and lane (subscriptions "
          "of an I/O thread that are matched together)")
      .Add(latencies.live_delivery);
  families.Histogram("weir_gate_wait_seconds", "Time that delayed operations waited at the throttle's gate")
      .Add(latencies.read_gate_wait, {{"operation", "read"}})
      .Add(latencies.write_gate_wait, {{"operation", "write"}});

  AppendSources(Sources(), families);
  AppendProcess(started_at_, families);
  return std::move(families).Take();
}

std::string RelayMetrics::Prometheus() const {
  return prometheus_text_.Get(clock_.Now(), [this] { return prometheus::TextSerializer().Serialize(Families()); });
}

std::string RelayMetrics::State(std::string why, Status ready, std::string note) const {
  return RelayStatePage(
      {.why = std::move(why), .ready = std::move(ready), .note = std::move(note), .started_at = started_at_},
      Sources());
}

std::string RelayMetrics::Json() const {
  return json_text_.Get(clock_.Now(), [this] { return MakeJson(); });
}

}  // namespace weir
