// Ids of OpenTelemetry's traces and spans, and the header field by which a caller names its own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

TraceId NewTraceId();
SpanId NewSpanId();
// Returns random bits of a generator of the thread's own. Good for ids and for sampling, not for secrets.
uint64_t RandomBits();

// The header field traceparent (W3C Trace Context).
struct TraceParent {
  TraceId trace{};
  SpanId span{};
  bool sampled = false;
};
// Returns nullopt if it is malformed. From a later version it reads the fields that the known one has.
std::optional<TraceParent> ParseTraceParent(std::string_view text);

}  // namespace weir
