// Reports the figures that a relay and a gate have in common.
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
  std::function<void(MetricFamilies& families)> plugins;  // adds those of a relay's plugins, or of a gate's limiters
};
// Adds the figures of all sources.
void AppendService(const ServiceSources& sources, MetricFamilies& families);

}  // namespace weir
