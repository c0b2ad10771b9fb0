// GateServer serves the limiters on a port of their own.
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
  // Its clients are programs, many on one machine or behind one address, that keep their connections for the next call:
  // one address may have all connections but those that others have a claim to (server/places.h).
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
  // Opens the limiters and binds the port.
  static Result<std::unique_ptr<GateServer>> Open(const GateConfiguration& configuration);
  ~GateServer() { Shutdown(std::chrono::milliseconds(0)); }

  void Accept() { server_.Accept(); }
  uint16_t port() const { return server_.port(); }
  // The address at which a program on this machine reaches it: "127.0.0.1:3335".
  std::string host_and_port() const;
  std::string url() const;
  // Soon reads the configuration file and the certificate again.
  void Reload();
  // Writes the state to the log, on a page. From any thread, but not during Shutdown.
  void TellState() const;
  // Answers the open requests (those that wait in line with 503) and ends calls that a store has begun, for `longest`
  // at most; then writes down what is only in memory. ForceShutdown, from another thread, hurries it.
  void Shutdown(std::chrono::milliseconds longest);
  void ForceShutdown() { server_.ForceShutdown(); }
  // True if no count would be lost if the process ended now.
  bool all_is_in_store() const;

 private:
  GateServer(const GateConfiguration& configuration, std::unique_ptr<Traces> traces, ServedLimiters limiters);
  HttpRouter Routes();
  Status Ready(std::string* note) const;
  // True if a gRPC service can serve ("" is for all); nullopt if there is no such service.
  std::optional<bool> Serving(std::string_view grpc_service) const;
  std::string Metrics() const;
  MetricSources Sources() const;

  const std::string listen_;
  const std::unique_ptr<Traces> traces_;  // null if traces are off
  const ServedLimiters limiters_;
  bool open_ = false;  // the limiters are open
  const Admin admin_;
  const double started_at_;  // seconds since 1970
  CachedText metrics_text_;
  Server server_;  // destroyed first
};

}  // namespace weir
