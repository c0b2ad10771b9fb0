#include "relay/limiters/keyed/keyed_metrics.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::array<std::string_view, kKeyedCodes> kKeyedCodeNames = {
    "granted",       "window_full",      "line_full",  "invalid_key", "overrides_off",
    "too_many_keys", "too_many_waiting", "store_away", "closed"};

}  // namespace

std::string_view NameOf(KeyedCode code) { return kKeyedCodeNames[static_cast<size_t>(code)]; }

void KeyedMetrics::AppendTo(MetricFamilies& families, const KeyedCounts& counts,
                            const std::optional<SharedWindowsHealth>& shared) const {
  families.Counter("weir_keyed_requests_total",
                   "Requests for a key, by answer; client_left: the client was gone before its turn came");
  for (size_t code = 0; code < kKeyedCodes; ++code)
    families.Add(answers_[code].load(std::memory_order_relaxed), {{"code", kKeyedCodeNames[code]}});
  families.Add(invalid_.load(std::memory_order_relaxed), {{"code", "invalid_request"}})
      .Add(client_left_.load(std::memory_order_relaxed), {{"code", "client_left"}});
  families.Counter("weir_keyed_given_back_total", "Calls to give a grant back, by result")
      .Add(given_back_.load(std::memory_order_relaxed), {{"result", "given_back"}})
      .Add(not_given_back_.load(std::memory_order_relaxed), {{"result", "unknown_grant"}});
  families.Gauge("weir_keyed_keys", "Keys that are held now").Add(counts.keys);
  families.Gauge("weir_keyed_waiting", "Requests that wait in line now").Add(counts.waiting);
  families.Counter("weir_keyed_waited_total", "Requests that waited in line, whatever the result").Add(counts.waited);
  families.Histogram("weir_keyed_wait_seconds", "Time that granted requests waited in line").Add(waits_);
  config_reads_.AppendTo(families, "weir_keyed");
  if (!shared) return;
  families
      .Counter("weir_keyed_leases_total", "Leases of shared windows that were requested, by whether the store answered")
      .Add(counts.leases - std::min(counts.leases, counts.leases_unanswered), {{"result", "answered"}})
      .Add(counts.leases_unanswered, {{"result", "unanswered"}});
  families.Counter("weir_keyed_leased_total", "Grants that were leased, for all requests of shared keys")
      .Add(counts.leased);
  families.Counter("weir_keyed_unspent_total", "Grants that were leased and not spent while their window ran")
      .Add(counts.unspent);
  families.Counter("weir_keyed_store_writes_total", "Writes to the store of shared windows, of one or many questions")
      .Add(shared->writes);
  families.Gauge("weir_keyed_store_up", "1 while the store of shared windows answers, 0 while it is away")
      .Add(shared->answers ? 1.0 : 0.0);
}

}  // namespace weir
