// The settings of traces. A setting that has no value under weir's name (WEIR_TRACE_…) is read from the variable that
// OpenTelemetry defines (OTEL_…).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "config/status.h"
#include "config/text/url.h"
#include "relay/observe/trace/otlp.h"

namespace weir {

struct TraceSettings {
  std::string endpoint;      // URL of the collector, http://127.0.0.1:4318; empty: nothing is traced
  double ratio = 0.01;       // share of requests that are traced, 0 to 1
  std::string service_name;  // empty: the service.name in `attributes`, or else "weir"
  std::string attributes;    // attributes of the resource (this process): key=value,key=value
  std::string headers;       // header fields for the collector: key=value,key=value
  std::string ca_file;       // file of certificates to trust; empty: those of the system
};
void Declare(SettingTable& table, TraceSettings& settings);
// Returns an error if `endpoint` is set and ReadTraceTarget would return one.
Status Check(const TraceSettings& settings);

// The parsed settings: the collector, and the attributes of this process that are sent to it.
struct TraceTarget {
  ServerUrl url;
  std::vector<std::pair<std::string, std::string>> headers;
  ResourceAttributes resource;
  std::string ca_file;
};
// Parses the settings. An error names the wrong setting.
Result<TraceTarget> ReadTraceTarget(const TraceSettings& settings);

}  // namespace weir
