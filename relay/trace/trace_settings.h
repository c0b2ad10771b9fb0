// The settings of traces. A setting that is not set by weir's own name is read from OpenTelemetry's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "config/status.h"
#include "config/text/url.h"
#include "relay/trace/otlp.h"

namespace weir {

struct TraceSettings {
  std::string endpoint;      // http://127.0.0.1:4318; empty: off
  double ratio = 0.01;       // the share of requests that is traced
  std::string service_name;  // empty: service.name of the attributes, or weir
  std::string attributes;    // attributes of the resource: key=value,key=value
  std::string headers;       // key=value,key=value
  std::string ca_file;
};
void Declare(SettingTable& table, TraceSettings& settings);
Status Check(const TraceSettings& settings);

// The settings, parsed.
struct TraceTarget {
  ServerUrl url;
  std::vector<std::pair<std::string, std::string>> headers;
  ResourceAttributes resource;
  std::string ca_file;
};
Result<TraceTarget> ReadTraceTarget(const TraceSettings& settings);

}  // namespace weir
