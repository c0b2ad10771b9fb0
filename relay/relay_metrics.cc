#include "relay/relay_metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "relay/relay_metrics_rep.h"
#include "relay/version.h"

namespace weir {
namespace {

constexpr Duration kStoreSizesFresh = std::chrono::seconds(10);

void CountOne(std::atomic<uint64_t>& counter, uint64_t count = 1) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

uint64_t Read(const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); }

}  // namespace

RelayMetrics::RelayMetrics(const Clock& clock) : rep_(std::make_unique<Rep>(clock)) {
  rep_->started_at = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

RelayMetrics::~RelayMetrics() = default;

void RelayMetrics::CountClientMessage(Verb verb) { CountOne(rep_->client_messages[static_cast<size_t>(verb)]); }

void RelayMetrics::CountRelayMessage(RelayVerb verb, uint64_t count) {
  CountOne(rep_->relay_messages[static_cast<size_t>(verb)], count);
}

void RelayMetrics::CountSavedEvent(uint16_t kind) { CountOne(rep_->kinds[KindSlot(kind)]); }

void RelayMetrics::CountRefusal(std::string_view prefix) {
  prefix = prefix.substr(0, prefix.find(':'));
  const auto found = std::ranges::find(kRefusalPrefixes, prefix);
  const bool known = found != kRefusalPrefixes.end();
  CountOne(rep_->refusals[known ? static_cast<size_t>(found - kRefusalPrefixes.begin()) : kRefusalPrefixes.size() - 1]);
}

void RelayMetrics::EventToOk(Duration latency) { rep_->event_to_ok.Observe(latency); }
void RelayMetrics::ReqToEose(Duration latency) { rep_->req_to_eose.Observe(latency); }
void RelayMetrics::LiveDelivery(Duration from_receipt_to_queue) { rep_->live_delivery.Observe(from_receipt_to_queue); }
void RelayMetrics::WriteGateWait(Duration waited) { rep_->write_gate_wait.Observe(waited); }
void RelayMetrics::ReadGateWait(Duration waited) { rep_->read_gate_wait.Observe(waited); }

void RelayMetrics::SetSources(MetricSources sources) {
  {
    std::lock_guard lock(rep_->mutex);
    rep_->sources = std::move(sources);
    rep_->store_sizes.reset();
  }
  rep_->prometheus_text.Forget();
  rep_->json_text.Forget();
}

MetricSources RelayMetrics::Rep::Sources() const {
  std::lock_guard lock(mutex);
  MetricSources result = sources;
  if (!sources.store) return result;
  if (const TimePoint now = clock.Now(); !store_sizes || now - store_sizes_at >= kStoreSizesFresh) {
    store_sizes = sources.store();
    store_sizes_at = now;
  }
  result.store = [sizes = *store_sizes] { return sizes; };
  return result;
}

std::vector<prometheus::MetricFamily> RelayMetrics::Rep::Families() const {
  MetricFamilies families;
  families.Gauge("weir_build_info", "1, with the versions of the program and its engine as labels")
      .Add(1.0, {{"version", Version()}, {"rocksdb", RocksDbVersion()}});

  families.Counter("nostr_client_messages_total", "Messages from clients, by verb");
  for (size_t i = 0; i < kVerbs; ++i) {
    families.Add(Read(client_messages[i]), {{"verb", NameOf(static_cast<Verb>(i))}});
  }
  families.Counter("nostr_relay_messages_total", "Messages to clients, by verb");
  for (size_t i = 0; i < kRelayVerbs.size(); ++i) families.Add(Read(relay_messages[i]), {{"verb", kRelayVerbs[i]}});
  families.Counter("nostr_events_total", "Events saved, by kind; kinds that no NIP names are other");
  for (size_t i = 0; i < kinds.size(); ++i) {
    const bool known = i < kKnownKinds.size();
    if (const uint64_t count = Read(kinds[i]); count > 0 || !known)
      families.Add(count, {{"kind", known ? std::to_string(kKnownKinds[i]) : "other"}});
  }
  families.Counter("weir_refusals_total", "OK false and CLOSED, by the prefix of their reason");
  for (size_t i = 0; i < refusals.size(); ++i) families.Add(Read(refusals[i]), {{"prefix", kRefusalPrefixes[i]}});

  families.Histogram("weir_event_ok_seconds", "From an EVENT's arrival to its OK").Add(event_to_ok);
  families.Histogram("weir_req_eose_seconds", "From a REQ's arrival to its EOSE").Add(req_to_eose);
  families
      .Histogram("weir_live_delivery_seconds",
                 "From an EVENT's arrival to its subscribers' outputs, once for each event and I/O thread")
      .Add(live_delivery);
  families.Histogram("weir_gate_wait_seconds", "Waiting at the throttle's gate of what it made wait")
      .Add(read_gate_wait, {{"operation", "read"}})
      .Add(write_gate_wait, {{"operation", "write"}});

  AppendSources(Sources(), families);
  AppendProcess(started_at, families);
  return std::move(families).Take();
}

std::string RelayMetrics::Prometheus() const {
  return rep_->prometheus_text.Get(rep_->clock.Now(),
                                   [this] { return prometheus::TextSerializer().Serialize(rep_->Families()); });
}

std::string RelayMetrics::Json() const {
  return rep_->json_text.Get(rep_->clock.Now(), [this] { return MakeJson(); });
}

std::string CachedText::Get(TimePoint now, const std::function<std::string()>& make) {
  std::unique_lock making(making_, std::try_to_lock);
  const bool others_make_it = !making.owns_lock();
  {
    std::lock_guard lock(mutex_);
    if (text_ && (others_make_it || now - made_at_ < kFresh)) return *text_;
  }
  if (others_make_it) {
    // The first of all: there is nothing to show meanwhile.
    making.lock();
    std::lock_guard lock(mutex_);
    if (text_) return *text_;
  }
  std::string text = make();
  std::lock_guard lock(mutex_);
  text_ = text;
  made_at_ = now;
  return text;
}

void CachedText::Forget() {
  std::lock_guard making(making_);
  std::lock_guard lock(mutex_);
  text_.reset();
}

}  // namespace weir
