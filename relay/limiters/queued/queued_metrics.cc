#include "relay/limiters/queued/queued_metrics.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, kQueuedCodes> kQueuedCodeNames = {
    "served", "invalid_path", "unknown_path", "too_large", "wait_too_long", "queue_full", "too_many_waiting", "closed"};

}  // namespace

std::string_view NameOf(QueuedCode code) { return kQueuedCodeNames[static_cast<size_t>(code)]; }

void QueuedMetrics::AppendTo(MetricFamilies& families, const QueuedCounts& counts) const {
  families.Counter("weir_queued_requests_total",
                   "Requests at endpoints, by answer; client_left: the client was gone before its turn came");
  for (size_t code = 0; code < kQueuedCodes; ++code)
    families.Add(answers_[code].load(std::memory_order_relaxed), {{"code", kQueuedCodeNames[code]}});
  families.Add(invalid_.load(std::memory_order_relaxed), {{"code", "invalid_request"}})
      .Add(client_left_.load(std::memory_order_relaxed), {{"code", "client_left"}});
  families.Gauge("weir_queued_waiting", "Requests that wait at endpoints now").Add(counts.waiting);
  families.Counter("weir_queued_waited_total", "Requests that waited in line, whatever the result").Add(counts.waited);
  families.Histogram("weir_queued_wait_seconds", "Time that served requests waited in line").Add(waits_);
  families.Gauge("weir_queued_dynamic_endpoints", "Endpoints that are not configured themselves").Add(counts.dynamic);
  config_reads_.AppendTo(families, "weir_queued");
}

}  // namespace weir
