// ServedLimiter: a limiter as a port serves it: that of `weir gate`, or a relay's.
//
// Threads: any once it is open, but for Stop.
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
  // Returns the answer to a client that is no administrator, as Admin::Refusal does.
  using Refusal = std::function<std::optional<HttpResponse>(const HttpRequest&)>;

  virtual ~ServedLimiter() = default;

  // Handlers are not called before Open, which is called when all routes of the port have been added.
  virtual void AddRoutes(HttpRouter& router, const Refusal& refusal) = 0;
  // Returns an error if its settings or its configuration are wrong. The methods below need an open limiter. The tracer
  // may be null.
  virtual Status Open(Tracer* tracer) = 0;

  // Returns its gRPC service; empty if it has none.
  virtual std::string_view grpc_service() const { return {}; }
  // Returns its other name in gRPC's health checks; empty if it has none.
  virtual std::string_view health_name() const { return {}; }
  // Returns an error if it cannot decide. *note says what is wrong although it can.
  virtual Status Ready(std::string* /*note*/) const { return Status(); }
  virtual void AppendMetrics(MetricFamilies& families) const = 0;
  // See RelayPart::AppendLive.
  virtual void AppendLive(LiveTables& /*tables*/) const {}
  // Reads its configuration again. Must not block. On an error, which is logged, the running configuration stays.
  virtual void ReloadSoon() = 0;

  // Returns how long Stop may have to wait at most.
  virtual std::chrono::milliseconds longest_call() const { return {}; }
  // True if no count would be lost if the process ended now.
  virtual bool all_is_in_store() const { return true; }
  // Called when no connection is left. Waits for calls under way, and writes down what is only in memory. A second call
  // does nothing.
  virtual void Stop() = 0;
};

}  // namespace weir
