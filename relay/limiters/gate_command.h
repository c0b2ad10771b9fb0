// weir gate: serves the limiters on a port of their own, without a relay, until a signal stops it.
//
//   /v1/…                the quotas (quota/quota_api.h)
//   /rate/…, /debug      a window of requests for each key (keyed/keyed_api.h)
//   paths of weir.yaml   endpoints whose requests wait in a queue (queued/queued_api.h)
//   /json                Envoy's rate limits, which Envoy itself asks for by gRPC (envoy/envoy_api.h, envoy_grpc.h)
//   /                    a page of help
//   /metrics             Prometheus
//   /healthz             200 as long as the gate answers at all
//   /readyz              200, or 503 with the reason why a limiter cannot decide
#pragma once

namespace weir {

// Returns the exit status: 0 if a signal stopped the gate, 1 if it could not be opened, 2 if flags, settings or
// weir.yaml are wrong. argv[0] is "weir gate".
int GateCommand(int argc, char** argv);

}  // namespace weir
