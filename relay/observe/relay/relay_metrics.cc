#include "relay/observe/relay/relay_metrics.h"

#include <prometheus/text_serializer.h>

#include <chrono>
#include <string>
#include <utility>

#include "config/text/json_writer.h"
#include "relay/observe/relay/known_kinds.h"
#include "relay/observe/relay/relay_state.h"
#include "relay/process/version.h"

namespace weir {
namespace {

uint64_t Operations(const GateStats& stats) {
  uint64_t operations = 0;
  for (const Flow& flow : stats.admitted) operations += flow.operations;
  return operations;
}

void WriteWaits(const std::string& name, const GateStats& stats, double rate, JsonWriter& json) {
  json.Member(name + "_throttle_count").Number(stats.delayed);
  json.Member(name + "_throttle_seconds").Number(ToSeconds(stats.waited));
  json.Member(name + "s_per_second").Number(rate);
}

void WriteValue(const prometheus::MetricFamily& family, const prometheus::ClientMetric& metric, JsonWriter& json) {
  if (family.type != prometheus::MetricType::Histogram) {
    json.Number(family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value);
    return;
  }
  const auto& histogram = metric.histogram;
  const auto count = static_cast<double>(histogram.sample_count);
  json.Open('{');
  json.Member("count").Number(histogram.sample_count);
  json.Member("mean").Number(count > 0 ? histogram.sample_sum / count : 0);
  json.Member("p50").Number(Quantile(histogram, 0.50));
  json.Member("p99").Number(Quantile(histogram, 0.99));
  json.Close('}');
}

// Writes a family as an object: a metric with one label is a member of it, a metric with two labels is a member of the
// object for its first label.
void WriteFamily(const prometheus::MetricFamily& family, JsonWriter& json) {
  json.Member(family.name);
  if (family.metric.front().label.empty()) return WriteValue(family, family.metric.front(), json);
  json.Open('{');
  std::string open;
  for (const prometheus::ClientMetric& metric : family.metric) {
    const bool nested = metric.label.size() > 1;
    if (nested && metric.label.front().value != open) {
      if (!open.empty()) json.Close('}');
      open = metric.label.front().value;
      json.Member(open).Open('{');
    }
    json.Member(metric.label.back().value);
    WriteValue(family, metric, json);
  }
  if (!open.empty()) json.Close('}');
  json.Close('}');
}

// Writes a family whose labels are the information: each label becomes a member.
void WriteInfo(const prometheus::MetricFamily& family, JsonWriter& json) {
  json.Member(family.name).Open('{');
  for (const auto& label : family.metric.front().label) json.Member(label.name).String(label.value);
  json.Close('}');
}

}  // namespace

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
  families.Counter("weir_refusals_total", "OK false, CLOSED and NEG-ERR, by the prefix of their reason");
  for (const auto& [prefix, count] : counters_.Refusals()) families.Add(count, {{"prefix", prefix}});

  families.Counter("weir_failures_total",
                   "Refusals by whose fault they are (client, relay, database) and why, and, with the fault bus, "
                   "ephemeral events that did not reach the other relays");
  const auto add_cause = [&](Cause cause, uint64_t count) {
    families.Add(count, {{"fault", WordsOf(cause).fault}, {"reason", WordsOf(cause).reason}});
  };
  const MetricSources sources = Sources();
  for (size_t i = 0; i < kCauses; ++i)
    if (const auto cause = static_cast<Cause>(i); cause != Cause::kBusLost) add_cause(cause, counters_.Refusals(cause));
  if (sources.siblings != nullptr) add_cause(Cause::kBusLost, sources.siblings->Stats().bus.lost);

  families.Counter("weir_counts_total", "Answers to COUNTs: exact ones, and estimates of sets that are too large");
  for (const auto& [answer, count] : counters_.AnsweredCounts()) families.Add(count, {{"answer", answer}});

  families.Gauge("weir_open_syncs", "NEG-OPENs that are open, each with the set of its events in memory")
      .Add(static_cast<double>(counters_.OpenSyncs()));

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

  AppendSources(sources, families);
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

double RelayMetrics::RateMeter::Update(uint64_t operations, TimePoint now) {
  const double elapsed_s = ToSeconds(now - since_);
  if (since_ != TimePoint{} && elapsed_s < 1) return rate_;
  rate_ = since_ == TimePoint{} ? 0 : static_cast<double>(operations - operations_) / elapsed_s;
  since_ = now;
  operations_ = operations;
  return rate_;
}

// Makes the JSON of /api/metrics. The first member has the figures of the throttle, with the names that a plan of the
// relay ORLY gave them. Then follows each metric family under its name, with the values of its labels as members.
//
//   {"rate_limit": {"load_level": 0.31, …},
//    "nostr_client_messages_total": {"EVENT": 12, "REQ": 3, …},
//    "weir_event_ok_seconds": {"count": 12, "mean": 0.004, "p50": 0.003, "p99": 0.011}, …}
std::string RelayMetrics::MakeJson() const {
  const MetricSources sources = Sources();
  JsonWriter json;
  json.Open('{');
  json.Member("rate_limit").Open('{');
  if (sources.monitor != nullptr) {
    json.Member("load_level").Number(sources.monitor->LoadLevel());
    json.Member("memory_pressure").Number(sources.monitor->MemoryPressure());
    json.Member("read_latency_avg_seconds").Number(ToSeconds(sources.monitor->ReadLatency()));
    json.Member("write_latency_avg_seconds").Number(ToSeconds(sources.monitor->WriteLatency()));
  }
  if (sources.limiter != nullptr) {
    const TimePoint now = clock_.Now();
    const GateStats reads = sources.limiter->Stats(Operation::kRead);
    const GateStats writes = sources.limiter->Stats(Operation::kWrite);
    const MutexLock lock(mutex_);
    WriteWaits("write", writes, writes_.Update(Operations(writes), now), json);
    WriteWaits("read", reads, reads_.Update(Operations(reads), now), json);
  }
  json.Close('}');
  for (const prometheus::MetricFamily& family : Families()) {
    family.name.ends_with("_info") ? WriteInfo(family, json) : WriteFamily(family, json);
  }
  json.Close('}');
  return std::move(json).Text();
}

}  // namespace weir
