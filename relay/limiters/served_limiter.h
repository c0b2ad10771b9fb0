// ServedLimiter: the interface of a limiter for the server on whose port it runs: `weir gate` or a relay.
//
// Threads: after Open has returned, any thread may call the functions other than AddRoutes, Open and Stop.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "config/status.h"
#include "relay/net/http.h"
#include "relay/observe/metrics/live_tables.h"
#include "relay/observe/metrics/metric_families.h"
#include "relay/observe/trace/tracer.h"

namespace weir {

class ServedLimiter {
 public:
  // Returns nullopt if the client is an administrator, else the answer that refuses the request (Admin::Refusal).
  using Refusal = std::function<std::optional<HttpResponse>(const HttpRequest&)>;

  virtual ~ServedLimiter() = default;

  // Adds the routes of the limiter. The server calls Open only after all limiters have added their routes, and calls
  // the routes' handlers only after Open has returned. `refusal` is for the routes that only administrators may use.
  virtual void AddRoutes(HttpRouter& router, const Refusal& refusal) = 0;
  // Opens the limiter. Returns an error if its settings or its configuration are wrong, or if its store cannot be used.
  // After an error, of the functions below only grpc_service and health_name may be called. `tracer` may be null;
  // otherwise it must live until Stop has returned.
  virtual Status Open(Tracer* tracer) = 0;

  // Returns the name of the limiter's gRPC service; empty if it has none.
  virtual std::string_view grpc_service() const { return {}; }
  // Returns another name for the limiter in gRPC's health checks; empty if it has none.
  virtual std::string_view health_name() const { return {}; }
  // Returns an error if the limiter cannot decide about requests. If it can decide but something else is wrong, may
  // write that to *note. REQUIRES: `note` is not null.
  virtual Status Ready(std::string* /*note*/) const { return Status(); }
  // Adds the metrics of the limiter.
  virtual void AppendMetrics(MetricFamilies& families) const = 0;
  // Adds the limiter's tables to the live page. See RelayPlugin::AppendLive.
  virtual void AppendLive(LiveTables& /*tables*/) const {}
  // Asks another thread to read the configuration again. Must not block. If the configuration is wrong, that thread
  // logs the error, and the limiter keeps its old configuration.
  virtual void ReloadSoon() = 0;

  // Returns the time that the shutdown of a gate has to leave to Stop, because a call may block on the store for so
  // long.
  virtual std::chrono::milliseconds longest_call() const { return {}; }
  // Returns true if the process may end without Stop, because Stop has no counts to write to a store. Returns false if
  // Stop may have some; that includes any quota store in memory, even one that is never written to a file.
  virtual bool all_is_in_store() const { return true; }
  // Ends the work of the limiter: stops watching its files, answers the requests that it still has or waits until they
  // are answered, and writes counts that are only in memory to its store. Called when no connection is left. A second
  // call does nothing.
  virtual void Stop() = 0;
};

}  // namespace weir
