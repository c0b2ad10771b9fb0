// ServedLimiter: the interface by which a port serves a limiter. The port is that of `weir gate` or of a relay.
//
// Threads: once Open has returned, any thread may call all functions except Stop.
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
  // Returns the answer to a client that is no administrator, or nullopt for an administrator, as Admin::Refusal does.
  using Refusal = std::function<std::optional<HttpResponse>(const HttpRequest&)>;

  virtual ~ServedLimiter() = default;

  // Adds the routes of the limiter. Their handlers are not called before Open has returned. Open is called when all
  // limiters have added their routes.
  virtual void AddRoutes(HttpRouter& router, const Refusal& refusal) = 0;
  // Opens the limiter. Returns an error if its settings or its configuration are wrong, or if its store cannot be used;
  // then the functions below must not be called, except grpc_service and health_name. `tracer` may be null; else it
  // must live until Stop has returned.
  virtual Status Open(Tracer* tracer) = 0;

  // Returns the name of the limiter's gRPC service; empty if it has none.
  virtual std::string_view grpc_service() const { return {}; }
  // Returns another name for the limiter in gRPC's health checks; empty if it has none.
  virtual std::string_view health_name() const { return {}; }
  // Returns an error if the limiter cannot decide. If it can, but something is wrong, writes that into *note. `note`
  // must not be null.
  virtual Status Ready(std::string* /*note*/) const { return Status(); }
  // Adds the metrics of the limiter.
  virtual void AppendMetrics(MetricFamilies& families) const = 0;
  // Adds the limiter's tables to the live page. See RelayPart::AppendLive.
  virtual void AppendLive(LiveTables& /*tables*/) const {}
  // Asks another thread to read the configuration again. Must not block. If the configuration is wrong, the error is
  // logged and the running one stays.
  virtual void ReloadSoon() = 0;

  // Returns the longest time that Stop may have to wait for a call of the store.
  virtual std::chrono::milliseconds longest_call() const { return {}; }
  // Returns false if Stop may have counts to write to the store, which would be lost without Stop. A limiter that never
  // writes its counts returns true.
  virtual bool all_is_in_store() const { return true; }
  // Called when no connection is left. Waits for the store's calls that have begun, and writes to the store what is
  // only in memory. A second call does nothing.
  virtual void Stop() = 0;
};

}  // namespace weir
