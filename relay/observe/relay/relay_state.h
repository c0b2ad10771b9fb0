// Makes the state page of a relay (relay/observe/metrics/state_page.h), with lines about throttle, engine, commits,
// port, queues and plugins.
#pragma once

#include <string>

#include "relay/observe/metrics/state_page.h"
#include "relay/observe/relay/relay_metrics.h"

namespace weir {

// Returns the page, without a line feed at its end. Any thread may call it.
std::string RelayStatePage(const StateOccasion& occasion, const MetricSources& sources);

}  // namespace weir
