// weir gate: serves the limiters without a relay, until it is told to stop.
//
//   /v1/…                the quotas (quota/quota_api.h)
//   /rate/…, /debug      a window of requests for each key (keyed/keyed_api.h)
//   /json                Envoy's rate limits, which Envoy itself asks for by gRPC (envoy/envoy_api.h, envoy_grpc.h)
//   /                    how to ask it
//   /metrics             Prometheus
//   /healthz, /readyz    200 while it answers at all; 200, or 503 with the reason why it cannot decide
#pragma once

namespace weir {

int GateCommand(int argc, char** argv);

}  // namespace weir
