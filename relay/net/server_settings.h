// The settings of a Server (server.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "config/settings.h"
#include "relay/account/ledger.h"
#include "relay/net/tls_certificate.h"

namespace weir {

struct ServerSettings {
  std::string listen = "127.0.0.1";  // the address to listen on; [::] or 0.0.0.0 for all
  uint64_t port = 3334;              // 0: any free port
  uint64_t io_threads = 0;           // 0: one for every two cores
  uint64_t max_connections = 10000;
  uint64_t max_connections_per_address = 200;
  uint64_t max_message_bytes = 256 * 1024;  // the longest WebSocket message
  uint64_t max_http_body_bytes = 1024 * 1024;
  uint64_t max_pending_bytes = 4 * 1024 * 1024;  // the most output that may wait for one client
  uint64_t max_address_mb = 32;                  // MiB that one client address may make the relay hold
  uint64_t max_pending_total_mb = 128;           // MiB of waiting output of all clients; see Session::OverShare
  // The longest time from accepting a connection, or from the last HTTP answer on it, until the next request is whole.
  std::chrono::milliseconds handshake_timeout{10000};
  std::chrono::milliseconds ping_interval{30000};  // silence before a ping; see server_settings.cc
  std::string trusted_proxies;                     // see TrustedProxies in client_address.h
  bool compression = false;                        // true to accept permessage-deflate
  TlsFiles tls;                                    // empty if the port does not speak TLS
  // A path that takes WebSockets in addition to "/": the path of the relay's public URL, which a proxy may pass on.
  std::string websocket_path = "/";
};
// Adds all settings except websocket_path to `table`, whose Load sets `settings`.
void Declare(SettingTable& table, ServerSettings& settings);

// Reads the files, and returns an error if they are not a valid certificate with its key. Returns success if no file is
// set.
Status CheckTls(const TlsFiles& files);

// Returns the URL at which a program on this machine reaches a server with these settings. REQUIRES: the port is not 0.
std::string OwnUrl(const ServerSettings& settings);

// Returns the bounds of memory for each address, without the total for all addresses (Ledger::BoundTotal).
Ledger::Bounds LedgerBoundsOf(const ServerSettings& settings);

}  // namespace weir
