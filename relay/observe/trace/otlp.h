// Writes the requests and reads the answers of the OpenTelemetry protocol (OTLP), as JSON.
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "relay/observe/trace/span.h"

namespace weir {

using ResourceAttributes = std::vector<std::pair<std::string, std::string>>;

// Returns an ExportTraceServiceRequest with these spans. `at_zero` is the date and time at which the clock of the spans
// was zero.
std::string WriteOtlp(std::span<const SpanData> spans, const ResourceAttributes& resource, WallTime at_zero);

// The partialSuccess of an ExportTraceServiceResponse.
struct PartialSuccess {
  uint64_t rejected = 0;  // number of spans that the collector rejected
  std::string message;    // why
};
// Returns the partialSuccess in the body of an answer. If it is missing (the collector then accepted all spans) or
// cannot be read, `rejected` is 0.
PartialSuccess ReadPartialSuccess(std::string_view body);

}  // namespace weir
