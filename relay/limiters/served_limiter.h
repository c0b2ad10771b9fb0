// ServedLimiter: a limiter as a port serves it, that of `weir gate` or a relay's.
//
// Threads: any, once it is open, but for Stop.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "config/status.h"
#include "relay/metrics/live_tables.h"
#include "relay/metrics/metric_families.h"
#include "relay/server/http.h"
#include "relay/trace/tracer.h"

namespace weir {

class ServedLimiter {
 public:
  // The answer to who is no administrator, as Admin::Refusal.
  using Refusal = std::function<std::optional<HttpResponse>(const HttpRequest&)>;

  virtual ~ServedLimiter() = default;

  // Handlers are not called before Open, which is called when all routes of the port have been added.
  virtual void AddRoutes(HttpRouter& router, const Refusal& refusal) = 0;
  // An error: its settings or its configuration are wrong. The rest goes by one that is open. The tracer may be null.
  virtual Status Open(Tracer* tracer) = 0;

  // The service by which gRPC knows it; empty: none.
  virtual std::string_view grpc_service() const { return {}; }
  // Another name of it in gRPC's health checks; empty: none.
  virtual std::string_view health_name() const { return {}; }
  // Whether it can decide. *note: what is wrong although it can.
  virtual Status Ready(std::string* /*note*/) const { return Status(); }
  virtual void AppendMetrics(MetricFamilies& families) const = 0;
  // RelayPart::AppendLive.
  virtual void AppendLive(LiveTables& /*tables*/) const {}
  // Reads its configuration again. Must not block. On an error, which is logged, what runs goes on.
  virtual void ReloadSoon() = 0;

  // What Stop may have to wait for, at most.
  virtual std::chrono::milliseconds longest_call() const { return {}; }
  // Nothing that was counted would be lost if the process ended now.
  virtual bool all_is_in_store() const { return true; }
  // When no connection is left. Waits for what it has under way, and writes down what is only in memory. Again:
  // nothing.
  virtual void Stop() = 0;
};

}  // namespace weir
