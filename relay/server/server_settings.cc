#include "relay/server/server_settings.h"

namespace weir {
namespace {

// An ordinary client makes the relay hold some kilobytes.
constexpr uint64_t kAlwaysBytes = 64 << 10;

}  // namespace

void Declare(SettingTable& table, ServerSettings& s) {
  table.Add("LISTEN", &s.listen, "address to listen on; 0.0.0.0 or [::] for all of this machine's");
  table.Add("PORT", &s.port, {.min = 0, .max = 65535},
            "port for WebSocket and HTTP; 0: any free one; `weir gate` takes 3335 where it is not set");
  table.Add("IO_THREADS", &s.io_threads, {.min = 0, .max = 256, .unit = "threads"},
            "threads that serve connections; 0: one for every two cores");
  table.Add(
      "MAX_CONNECTIONS", &s.max_connections, {.min = 1, .max = 1'000'000, .unit = "connections"},
      "open at once; the last tenth is for addresses below their share, and then the address with most gives its most "
      "silent one to an address with fewer; else one more is answered 503; 127.0.0.1 and ::1 have 32 more, for HTTP");
  table.Add(
      "MAX_CONNECTIONS_PER_ADDRESS", &s.max_connections_per_address,
      {.min = 1, .max = 1'000'000, .unit = "connections"},
      "open at once from one client address (of IPv6 one /64); one more is answered 503; of IPv6 a /48 is one "
      "address as well where connections are short; `weir gate` has no such limit where it is not set, but its share");
  table.Add("MAX_MESSAGE_BYTES", &s.max_message_bytes, {.min = 1024, .max = 64 << 20, .unit = "bytes"},
            "longest WebSocket message; a longer one closes the connection (1009)");
  table.Add("MAX_HTTP_BODY_BYTES", &s.max_http_body_bytes, {.min = 1024, .max = 1 << 30, .unit = "bytes"},
            "longest body of an HTTP request; a longer one is answered 413");
  table.Add("MAX_PENDING_BYTES", &s.max_pending_bytes, {.min = 64 << 10, .max = 1 << 30, .unit = "bytes"},
            "output that may wait for a client that reads slowly; beyond it the client is disconnected");
  table.Add("MAX_ADDRESS_MB", &s.max_address_mb, {.min = 1, .max = 1 << 20, .unit = "MiB"},
            "what all connections of one client address (of IPv6 one /64) may make the relay hold: filters, answers, "
            "events that wait");
  table.Add("MAX_PENDING_TOTAL_MB", &s.max_pending_total_mb, {.min = 1, .max = 1 << 20, .unit = "MiB"},
            "output that may wait for all clients together; beyond it those with more than an equal share are "
            "disconnected");
  table.Add("HANDSHAKE_TIMEOUT_MS", &s.handshake_timeout, {.min = 100, .max = 600'000, .unit = "ms"},
            "from a connection's begin to a whole request, and of silence between two HTTP requests; `weir gate` takes "
            "75000 where it is not set");
  table.Add("PING_INTERVAL_MS", &s.ping_interval, {.min = 100, .max = 3'600'000, .unit = "ms"},
            "silence after which a client is pinged; twice as long without an answer, without taking any output that "
            "waits or without completing a message, and it is disconnected");
  table.Add("TRUSTED_PROXIES", &s.trusted_proxies,
            "addresses or networks (10.0.0.0/8) whose X-Forwarded-For, else X-Real-IP, is believed, comma-separated");
  table.Add("TLS_CERT", &s.tls.certificate,
            "file with the certificate, and those between it and its authority, in PEM form: the port speaks TLS "
            "(https://, wss://); read again when it is renewed, and at SIGHUP; with TLS_KEY");
  table.Add("TLS_KEY", &s.tls.key, "file with the key of TLS_CERT, in PEM form, without a password");
  table.Add("COMPRESSION", &s.compression, "whether permessage-deflate is agreed to; costs memory and time");
}

Status CheckTls(const TlsFiles& files) { return files.empty() ? Status() : TlsCertificate::Load(files).status(); }

Ledger::Bounds LedgerBoundsOf(const ServerSettings& settings) {
  return {.address_bytes = settings.max_address_mb << 20, .always_bytes = kAlwaysBytes};
}

}  // namespace weir
