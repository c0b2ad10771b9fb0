#include "relay/net/server_settings.h"

#include "relay/net/host_names.h"

namespace weir {
namespace {

// The bytes that each address may always hold. An ordinary client holds some kilobytes.
constexpr uint64_t kAlwaysBytes = 64 << 10;

}  // namespace

void Declare(SettingTable& table, ServerSettings& s) {
  table.Add("LISTEN", &s.listen, "address to listen on; 0.0.0.0 or [::] for all addresses of this machine");
  table.Add("PORT", &s.port, {.min = 0, .max = 65535},
            "port for WebSocket and HTTP; 0: any free one; `weir gate` uses 3335 if it is not set");
  table.Add("IO_THREADS", &s.io_threads, {.min = 0, .max = 256, .unit = "threads"},
            "threads that serve connections; 0: one for every two cores");
  table.Add(
      "MAX_CONNECTIONS", &s.max_connections, {.min = 1, .max = 1'000'000, .unit = "connections"},
      "connections open at once. The last tenth is kept for addresses with few. When all are open, the address with "
      "the most loses its longest-silent connection to an address with at least two fewer; otherwise a new connection "
      "is answered 503. 127.0.0.1 and ::1 have 32 more, for HTTP");
  table.Add(
      "MAX_CONNECTIONS_PER_ADDRESS", &s.max_connections_per_address,
      {.min = 1, .max = 1'000'000, .unit = "connections"},
      "connections open at once from one client address (an IPv6 /64 counts as one); a further one is answered 503. "
      "When connections are short, an IPv6 /48 also counts as one address. `weir gate` has this limit only if it is "
      "set; without it, an address can have about nine tenths of MAX_CONNECTIONS");
  table.Add("MAX_MESSAGE_BYTES", &s.max_message_bytes, {.min = 1024, .max = 64 << 20, .unit = "bytes"},
            "longest WebSocket message; a longer one closes the connection (1009)");
  table.Add("MAX_HTTP_BODY_BYTES", &s.max_http_body_bytes, {.min = 1024, .max = 1 << 30, .unit = "bytes"},
            "longest body of an HTTP request; a longer one is answered 413");
  table.Add("MAX_PENDING_BYTES", &s.max_pending_bytes, {.min = 64 << 10, .max = 1 << 30, .unit = "bytes"},
            "output that may wait for a client that reads slowly; beyond it the client is disconnected");
  table.Add("MAX_ADDRESS_MB", &s.max_address_mb, {.min = 1, .max = 1 << 20, .unit = "MiB"},
            "memory that all connections of one client address (an IPv6 /64 counts as one) may make the relay hold: "
            "filters, answers, waiting events");
  table.Add("MAX_PENDING_TOTAL_MB", &s.max_pending_total_mb, {.min = 1, .max = 1 << 20, .unit = "MiB"},
            "output that may wait for all clients together; beyond it, clients with more than an equal share are "
            "disconnected");
  table.Add("HANDSHAKE_TIMEOUT_MS", &s.handshake_timeout, {.min = 100, .max = 600'000, .unit = "ms"},
            "longest time from a new connection to its first whole request, and longest silence between two HTTP "
            "requests; `weir gate` uses 75000 if it is not set");
  table.Add("PING_INTERVAL_MS", &s.ping_interval, {.min = 100, .max = 3'600'000, .unit = "ms"},
            "silence after which a client is pinged. A client is disconnected if for twice this time it does not "
            "answer, takes none of its waiting output, or does not complete a message");
  table.Add("TRUSTED_PROXIES", &s.trusted_proxies,
            "addresses or networks (10.0.0.0/8), comma-separated, whose X-Forwarded-For header, or else X-Real-IP, is "
            "believed");
  table.Add("TLS_CERT", &s.tls.certificate,
            "file with the certificate and its intermediate certificates, in PEM form; it makes the port speak TLS "
            "(https://, wss://), and needs TLS_KEY. The file is read again when it is renewed, and at SIGHUP");
  table.Add("TLS_KEY", &s.tls.key, "file with the key of TLS_CERT, in PEM form, without a password");
  table.Add("COMPRESSION", &s.compression, "whether permessage-deflate is agreed to; costs memory and time");
}

Status CheckTls(const TlsFiles& files) { return files.empty() ? Status() : TlsCertificate::Load(files).status(); }

std::string OwnUrl(const ServerSettings& s) {
  return (s.tls.empty() ? "http://" : "https://") + HostAndPort(s.listen, static_cast<uint16_t>(s.port));
}

Ledger::Bounds LedgerBoundsOf(const ServerSettings& settings) {
  return {.address_bytes = settings.max_address_mb << 20, .always_bytes = kAlwaysBytes};
}

}  // namespace weir
