// GateServer: the server of `weir gate`, which serves the limiters on a port of their own.
//
//   auto server = GateServer::Open(configuration);
//   if (!server.ok()) …
//   server.value()->Accept();
//   …
//   server.value()->Shutdown(std::chrono::seconds(10));
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/status.h"
#include "relay/limiters/quota/quota_settings.h"
#include "relay/limiters/served_limiters.h"
#include "relay/metrics/exposition.h"
#include "relay/metrics/relay_metrics.h"
#include "relay/operator/admin.h"
#include "relay/process/logging.h"
#include "relay/protocol/relay_settings.h"
#include "relay/server/server.h"
#include "relay/server/server_settings.h"
#include "relay/trace/traces.h"

namespace weir {

inline constexpr uint64_t kGatePort = 3335;

struct GateConfiguration {
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  // The clients are programs. Many run on one machine or behind one address, and keep their connections for the next
  // call. So one address may have all connections, except those that other addresses have a claim to (server/places.h).
  ServerSettings server{
      .port = kGatePort, .max_connections_per_address = 1'000'000, .handshake_timeout = std::chrono::seconds(75)};
  ServedLimiterSettings limiters{.quota = {.api = ServedQuotaApi::kAll},
                                 .keyed = {.api = ServedKeyedApi::kAll, .debug_for_admins = false},
                                 .queued = {.api = ServedQueuedApi::kAll, .debug_for_admins = false},
                                 .envoy = {.api = ServedEnvoyApi::kAll, .debug_for_admins = false}};
  QuotaAdminSettings admin;
  AdminFromLoopback admin_from_loopback = AdminFromLoopback::kFalse;
  TraceSettings trace;
};
void Declare(SettingTable& table, GateConfiguration& configuration);

class GateServer {
 public:
  // Opens the limiters, binds the port and starts the threads, but accepts no connection yet. Returns an error if one
  // of these fails.
  static Result<std::unique_ptr<GateServer>> Open(const GateConfiguration& configuration);
  // Calls Shutdown(0).
  ~GateServer() { Shutdown(std::chrono::milliseconds(0)); }

  // Begins to accept connections.
  void Accept() { server_.Accept(); }
  uint16_t port() const { return server_.port(); }  // the port that was bound, even if the settings say 0
  // Returns the address at which a program on this machine reaches the gate: "127.0.0.1:3335".
  std::string host_and_port() const;
  std::string url() const;  // the same with http:// or https://
  // Asks other threads to read the limiters' configuration files and the TLS certificate again, and returns at once. If
  // a file is wrong, the error is logged and what was read before stays in use.
  void Reload();
  // Writes a page about the gate's state to the log (state_page.h). May be called from any thread, but not once
  // Shutdown has begun.
  void TellState() const;
  // Stops accepting, answers all open requests (those that wait in line with 503) and closes the connections, within
  // `longest` minus the longest call of a store (ServedLimiter::longest_call). Then stops the limiters: they wait for
  // the calls that their stores have begun, and write to their stores what is only in memory. `longest` does not bound
  // this last part. ForceShutdown, which any thread may call, ends the wait for requests and connections.
  void Shutdown(std::chrono::milliseconds longest);
  void ForceShutdown() { server_.ForceShutdown(); }
  // Returns true if no limiter has counts that Shutdown still has to write to a store.
  bool all_is_in_store() const;

 private:
  GateServer(const GateConfiguration& configuration, std::unique_ptr<Traces> traces, ServedLimiters limiters);
  HttpRouter Routes();
  Status Ready(std::string* note) const;
  // Returns whether a gRPC service can serve; "" asks for all of them. Returns nullopt if there is no such service.
  std::optional<bool> Serving(std::string_view grpc_service) const;
  std::string Metrics() const;
  MetricSources Sources() const;

  const std::string listen_;
  const std::unique_ptr<Traces> traces_;  // null if traces are off
  const ServedLimiters limiters_;
  bool open_ = false;  // all limiters are open
  const Admin admin_;
  const double started_at_;  // seconds since 1970
  CachedText metrics_text_;
  Server server_;  // destroyed first
};

}  // namespace weir
