#include "relay/observe/metrics/service_metrics.h"

#include "relay/observe/trace/traces.h"

namespace weir {
namespace {

void AppendTls(const TlsStats& s, MetricFamilies& families) {
  families.Counter("weir_tls_handshakes_total", "TLS handshakes, by result")
      .Add(s.handshakes, {{"result", "good"}})
      .Add(s.handshake_failures, {{"result", "error"}});
  families
      .Counter("weir_tls_certificate_reloads_total", "Readings of the certificate's files after the first, by result")
      .Add(s.reloads, {{"result", "good"}})
      .Add(s.reload_failures, {{"result", "error"}});
  families
      .Gauge("weir_tls_certificate_expiry_seconds", "When the certificate in service expires, in seconds since 1970")
      .Add(static_cast<double>(s.certificate_expires_at));
}

void AppendServer(const ServerStats& s, MetricFamilies& families) {
  families.Gauge("weir_connections", "WebSocket connections that are open").Add(s.connections);
  families.Counter("weir_sockets_accepted_total", "Sockets accepted").Add(s.accepted);
  families.Counter("weir_sockets_refused_total", "Sockets turned away, by the limit that they met")
      .Add(s.refused_limit, {{"reason", "connections"}})
      .Add(s.refused_address_limit, {{"reason", "connections_per_address"}})
      .Add(s.handshake_failures, {{"reason", "handshake"}});
  families.Counter("weir_disconnects_total", "Connections that the relay ended, by reason")
      .Add(s.too_slow, {{"reason", "too_slow"}})
      .Add(s.protocol_errors, {{"reason", "protocol_error"}})
      .Add(s.policy_closes, {{"reason", "policy"}})
      .Add(s.pings_unanswered, {{"reason", "ping_unanswered"}})
      .Add(s.gave_way, {{"reason", "place_needed"}});
  families.Counter("weir_http_requests_total", "HTTP requests that did not become a WebSocket").Add(s.http_requests);
  families.Counter("weir_http_errors_total", "HTTP requests that were malformed, too large or late").Add(s.http_errors);
  families.Counter("weir_received_bytes_total", "Bytes received from clients").Add(s.received_bytes);
  families.Counter("weir_sent_bytes_total", "Bytes sent to clients").Add(s.sent_bytes);
  families.Gauge("weir_pending_output_bytes", "Output that clients have not taken yet").Add(s.pending_bytes);
  if (s.tls) AppendTls(*s.tls, families);
}

void AppendTraces(const TraceStats& s, MetricFamilies& families) {
  families.Counter("weir_trace_spans_total", "Spans of traces, by result")
      .Add(s.exported.sent, {{"result", "sent"}})
      .Add(s.exported.rejected, {{"result", "rejected"}})
      .Add(s.exported.failed, {{"result", "failed"}})
      .Add(s.dropped, {{"result", "dropped"}});
  families.Gauge("weir_trace_spans_waiting", "Spans that have ended and wait to be sent").Add(s.waiting);
}

}  // namespace

void AppendService(const ServiceSources& sources, MetricFamilies& families) {
  if (sources.ready)
    families.Gauge("weir_ready", "1 while /readyz says that it can serve").Add(sources.ready() ? 1.0 : 0.0);
  if (sources.server) AppendServer(sources.server(), families);
  if (sources.traces != nullptr) AppendTraces(sources.traces->Stats(), families);
  if (sources.plugins) sources.plugins(families);
}

}  // namespace weir
