// StatePage: describes the state of a relay or gate at one moment, as a page of text for people. The program writes
// this page to the log at SIGUSR1, and when a memory emergency begins.
//
//   state, asked for by SIGUSR1: ready
//     program      weir 1.2.3, process 1234, RocksDB 7.8.3, up 3 h 12 min, 412 MB resident, 57 files open
//     interactive  held to 2.10 MB/s by l0 at 0.91 (setpoint 0.85), drain 5.90 MB/s
//     …
//
// Making a page costs as much as a request for /metrics. A page has about forty lines; at most kMostOfParts of them are
// about the RelayPlugins.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstddef>
#include <string>

#include "relay/observe/metrics/relay_metrics.h"

namespace weir {

inline constexpr size_t kMostOfParts = 16;  // lines

struct StateOccasion {
  std::string why;        // why the page is made: "asked for by SIGUSR1"
  Status ready;           // the answer of /readyz
  std::string note;       // a problem of a server that is ready all the same; empty: none
  double started_at = 0;  // when the server started, in seconds since 1970
};

// Returns the page, without a line feed at its end.
std::string StatePage(const StateOccasion& occasion, const MetricSources& sources);

}  // namespace weir
