// What an operator can set about traces. Where the name of weir's own is not set, that of OpenTelemetry is read.
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
  double ratio = 0.01;       // of requests
  std::string service_name;  // empty: what the attributes say, or weir
  std::string attributes;    // of the resource: key=value,key=value
  std::string headers;       // key=value,key=value
  std::string ca_file;
};
void Declare(SettingTable& table, TraceSettings& settings);
Status Check(const TraceSettings& settings);

// The same, read.
struct TraceTarget {
  ServerUrl url;
  std::vector<std::pair<std::string, std::string>> headers;
  ResourceAttributes resource;
  std::string ca_file;
};
Result<TraceTarget> ReadTraceTarget(const TraceSettings& settings);

}  // namespace weir
