// The command `weir gate`: serves the limiters on one port, without a relay, until SIGINT or SIGTERM stops it.
//
//   /v1/…                quotas of LLM models (quota/quota_api.h)
//   /rate/…, /debug      limits by key: a number of requests in a window of time (keyed/keyed_api.h)
//   paths of weir.yaml   endpoints whose requests wait in a queue (queued/queued_api.h); /debug/endpoints shows them
//   /json                Envoy's rate limits in JSON (envoy/envoy_api.h), with /debug/ratelimit and /healthcheck, if
//                        WEIR_RATELIMIT_CONFIG is set. Envoy itself uses gRPC (envoy/envoy_grpc.h)
//   /                    a page of help
//   /metrics             metrics for Prometheus
//   /healthz             always 200
//   /readyz              200, or 503 with the reason if a limiter cannot decide
#pragma once

#include <functional>

#include "config/settings.h"

namespace weir {

// Declares settings in the table. The variables to which the table writes must outlive the table.
using DeclareSettings = std::function<void(SettingTable& table)>;

// Returns the exit status: 0 if a signal stopped the gate, or after --help; 1 if the gate could not start; 2 if the
// flags or settings are wrong, or weir.yaml, a file of Envoy's rate limits or a TLS file. argv[0] is "weir gate".
// `declare_others` declares the settings of other commands, which may be in the same environment, so that the gate does
// not warn of them.
int GateCommand(int argc, char** argv, const DeclareSettings& declare_others = {});

}  // namespace weir
