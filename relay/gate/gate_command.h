// weir gate: serves the quotas without a relay, until it is told to stop.
//
//   /v1/…                the API (quota_api.h)
//   /                    how to ask it
//   /metrics             Prometheus
//   /healthz, /readyz    200 while it answers at all; 200, or 503 with the reason why it cannot decide
#pragma once

namespace weir {

int GateCommand(int argc, char** argv);

}  // namespace weir
