// The settings of the network.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "config/settings.h"
#include "relay/account/ledger.h"
#include "relay/server/tls_certificate.h"

namespace weir {

struct ServerSettings {
  std::string listen = "127.0.0.1";  // an address; [::] or 0.0.0.0 for all
  uint64_t port = 3334;              // 0: any free one
  uint64_t io_threads = 0;           // 0: one for every two cores
  uint64_t max_connections = 10000;
  uint64_t max_connections_per_address = 200;
  uint64_t max_message_bytes = 256 * 1024;  // the longest WebSocket message
  uint64_t max_http_body_bytes = 1024 * 1024;
  uint64_t max_pending_bytes = 4 * 1024 * 1024;  // output that waits for a connection; beyond it the client goes
  uint64_t max_address_mb = 32;                  // all that one address makes the relay hold
  uint64_t max_pending_total_mb = 128;           // the same for all; beyond it those with more than their share go
  std::chrono::milliseconds handshake_timeout{10000};  // from accept to a whole request
  std::chrono::milliseconds ping_interval{30000};      // silence until a ping; twice as long: see server_settings.cc
  std::string trusted_proxies;                         // addresses whose X-Forwarded-For, else X-Real-IP, is believed
  bool compression = false;                            // permessage-deflate
  TlsFiles tls;                                        // empty: without TLS
  std::string websocket_path = "/";                    // besides "/": the path of the relay's address behind a proxy
};
void Declare(SettingTable& table, ServerSettings& settings);

// Reads the files, if there are any. Returns what is wrong with them.
Status CheckTls(const TlsFiles& files);

Ledger::Bounds LedgerBoundsOf(const ServerSettings& settings);

}  // namespace weir
