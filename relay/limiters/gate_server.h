// GateServer: the server of `weir gate`. On one port and without a relay, it serves the limiters that the settings turn
// on.
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
#include "relay/admin/admin.h"
#include "relay/limiters/quota/quota_settings.h"
#include "relay/limiters/served_limiters.h"
#include "relay/net/server.h"
#include "relay/net/server_settings.h"
#include "relay/observe/metrics/exposition.h"
#include "relay/observe/metrics/service_metrics.h"
#include "relay/observe/trace/traces.h"
#include "relay/process/logging.h"

namespace weir {

inline constexpr uint64_t kGatePort = 3335;

struct GateConfiguration {
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  // The clients of a gate are programs. Many of them may share an address, so in effect the gate does not limit the
  // connections of one address, except while it must leave room for other addresses (places.h). Programs keep their
  // connections open between calls, so handshake_timeout, which also bounds how long a connection may be idle between
  // two requests, is 75 s.
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
  // Opens the limiters, binds the port and starts the threads, but does not accept connections yet. Returns an error if
  // one of these steps fails.
  static Result<std::unique_ptr<GateServer>> Open(const GateConfiguration& configuration);
  ~GateServer() { Shutdown(std::chrono::milliseconds(0)); }

  // Begins to accept connections.
  void Accept() { server_.Accept(); }
  uint16_t port() const { return server_.port(); }  // the port that was bound, even if the settings say 0
  // Returns the address at which programs on this machine reach the gate, for example "127.0.0.1:3335".
  std::string host_and_port() const;
  std::string url() const;  // host_and_port() with http:// or https:// before it
  // Asks other threads to read the limiters' configuration files and the TLS certificate again, and returns at once. If
  // a file is wrong, the thread that reads it logs the error, and the gate goes on with the old content.
  void Reload();
  // Writes a page about the gate's state to the log (state_page.h). May be called from any thread, but not after
  // Shutdown has begun.
  void TellState() const;
  // Works in two steps. First it stops accepting connections, answers all open requests (with 503 if they still wait in
  // line) and closes the connections. It ends the connections that are left after `longest` minus the time that one
  // call of a store may take (ServedLimiter::longest_call). ForceShutdown, which any thread may call, ends this step at
  // once. The second step stops the limiters (ServedLimiter::Stop): the quotas wait for the calls of their store that
  // have begun, and write counts that are only in memory to the store. This step has no time limit. If Open has failed
  // to open a limiter, Shutdown does nothing.
  void Shutdown(std::chrono::milliseconds longest);
  void ForceShutdown() { server_.ForceShutdown(); }
  // Returns false if Shutdown may still have to write counts of a limiter to a store (ServedLimiter::all_is_in_store).
  bool all_is_in_store() const;

 private:
  GateServer(const GateConfiguration& configuration, std::unique_ptr<Traces> traces, ServedLimiters limiters);
  HttpRouter Routes();
  Status Ready(std::string* note) const;
  // Answers a health check by gRPC. Returns true if the limiter with this gRPC service, or with this health_name, can
  // decide about requests (ServedLimiter::Ready); for "", if all limiters can. Returns nullopt if there is no such
  // name.
  std::optional<bool> Serving(std::string_view grpc_service) const;
  std::string Metrics() const;
  ServiceSources Sources() const;

  const std::string listen_;
  const std::unique_ptr<Traces> traces_;  // null if traces are off
  const ServedLimiters limiters_;
  const std::string help_;  // the page at /
  bool open_ = false;       // true once all limiters are open
  const Admin admin_;
  const double started_at_;  // seconds since 1970
  CachedText metrics_text_;
  Server server_;  // destroyed first
};

}  // namespace weir
