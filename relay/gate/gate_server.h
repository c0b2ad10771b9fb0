// GateServer: the quotas with a port of their own.
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
#include <string>

#include "config/status.h"
#include "relay/gate/gate_settings.h"
#include "relay/gate/quota_json.h"
#include "relay/logging.h"
#include "relay/relay_settings.h"
#include "relay/server/server_settings.h"

namespace weir {

inline constexpr uint64_t kGatePort = 3335;

struct GateConfiguration {
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  // Its clients are programs, many on one machine or behind one address, that keep their connections for the next call;
  // and no call is longer than the API reads.
  ServerSettings server{.port = kGatePort,
                        .max_connections_per_address = 1'000'000,
                        .max_http_body_bytes = kMaxCallBytes,
                        .handshake_timeout = std::chrono::seconds(75)};
  GateSettings gate{.api = ServedQuotaApi::kAll};
  GateAdminSettings admin;
  AdminFromLoopback admin_from_loopback = AdminFromLoopback::kAuto;
};
void Declare(SettingTable& table, GateConfiguration& configuration);

class GateServer {
 public:
  // Opens the store and binds the port.
  static Result<std::unique_ptr<GateServer>> Open(const GateConfiguration& configuration);
  ~GateServer();

  void Accept();
  uint16_t port() const;
  // As a program on this machine reaches it: "127.0.0.1:3335".
  std::string host_and_port() const;
  // Reads the configuration file again, soon.
  void Reload();
  // Answers what was asked, and ends what the store has begun, for at most so long; then writes down what is only in
  // memory. Force, from another thread, hurries it.
  void Shutdown(std::chrono::milliseconds longest);
  void ForceShutdown();
  // Nothing that was counted would be lost if the process ended now.
  bool all_is_in_store() const;

 private:
  struct Rep;
  explicit GateServer(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
