// The OpenTelemetry protocol's messages, as JSON: writes requests and reads answers.
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "relay/trace/span.h"

namespace weir {

using ResourceAttributes = std::vector<std::pair<std::string, std::string>>;

// Returns an ExportTraceServiceRequest. `at_zero` is the time of day at which the spans' clock was zero.
std::string WriteOtlp(std::span<const SpanData> spans, const ResourceAttributes& resource, WallTime at_zero);

// The partialSuccess of an ExportTraceServiceResponse. A collector that took all spans may leave it out.
struct PartialSuccess {
  uint64_t rejected = 0;
  std::string message;
};
PartialSuccess ReadPartialSuccess(std::string_view body);

}  // namespace weir
