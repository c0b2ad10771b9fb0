// The figures of any program that serves a port: a relay or a gate.
#pragma once

#include <functional>

#include "relay/net/server.h"
#include "relay/observe/metrics/metric_families.h"

namespace weir {

class Traces;

// The sources of the figures. A source that is empty or null is left out.
struct ServiceSources {
  std::function<bool()> ready;  // whether /readyz says "ready"
  std::function<ServerStats()> server;
  const Traces* traces = nullptr;
  std::function<void(MetricFamilies& families)> plugins;  // adds the figures of what the program serves
};
// Adds the figures of all sources.
void AppendService(const ServiceSources& sources, MetricFamilies& families);

}  // namespace weir
