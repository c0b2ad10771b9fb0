// StatePage: describes the state of a relay or gate at one moment, as a page of text for people. The program writes
// this page to the log at SIGUSR1. A relay also does so when a memory emergency begins, at most once in ten minutes.
//
//   state, asked for by SIGUSR1: ready
//     program      weir 1.2.3, process 1234, RocksDB 7.8.3, up 3 h 12 min, 412 MB resident, 57 of 65536 files open
//     interactive  held to 2.10 MB/s by l0 at 0.91, setpoint 0.85, drain 5.90 MB/s
//     …
//
// Making a page costs as much as a request for /metrics. A page has at most about forty lines. At most kMostOfPlugins
// of them are about the plugins.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "config/status.h"
#include "relay/net/server.h"
#include "relay/observe/metrics/metric_families.h"

namespace weir {

struct StateOccasion {
  std::string why;        // why the page is made: "asked for by SIGUSR1"
  Status ready;           // the answer of /readyz
  std::string note;       // a problem of a server that is ready all the same; empty: none
  double started_at = 0;  // when the server started, in seconds since 1970
};

class StatePage {
 public:
  static constexpr size_t kMostOfPlugins = 16;  // lines

  // Begins the page with its title and a line about the program.
  explicit StatePage(const StateOccasion& occasion);

  void Line(std::string_view label, std::string_view text);
  void AddServer(const ServerStats& stats);
  // Adds the metrics that `plugins` adds to its argument, as "weir_imports_running 1" or
  // "weir_import_lines_total{imported} 12000", without zeros and histograms.
  void AddPlugins(const std::function<void(MetricFamilies&)>& plugins);

  // Returns the page, without a line feed at its end.
  std::string Text() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace weir
