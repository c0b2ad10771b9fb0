// The OpenTelemetry protocol's messages, as JSON: what is sent, and what is read of an answer.
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

// An ExportTraceServiceRequest. `at_zero`: the time of day at which the spans' clock was zero.
std::string WriteOtlp(std::span<const SpanData> spans, const ResourceAttributes& resource, WallTime at_zero);

// Of an ExportTraceServiceResponse. A collector that took all may say nothing at all.
struct PartialSuccess {
  uint64_t rejected = 0;
  std::string message;
};
PartialSuccess ReadPartialSuccess(std::string_view body);

}  // namespace weir
