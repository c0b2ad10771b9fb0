// StatePage: the state of a server at one moment, on a page for people. The log gets it at SIGUSR1 and when an
// emergency begins.
//
//   state, asked for by SIGUSR1: ready
//     program      weir 1.2.3, process 1234, RocksDB 7.8.3, up 3 h 12 min, 412 MB resident, 57 files open
//     interactive  held to 2.10 MB/s by l0 at 0.91 (setpoint 0.85), drain 5.90 MB/s
//     …
//
// Costs as much as /metrics. Has some forty lines, of which the parts have at most kMostOfParts.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <string>

#include "relay/metrics/relay_metrics.h"

namespace weir {

inline constexpr size_t kMostOfParts = 16;  // lines

struct StateOccasion {
  std::string why;        // "asked for by SIGUSR1"
  Status ready;           // the answer of /readyz
  std::string note;       // a warning although it is ready; may be empty
  double started_at = 0;  // seconds since 1970
};

std::string StatePage(const StateOccasion& occasion, const MetricSources& sources);

}  // namespace weir
