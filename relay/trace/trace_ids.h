// The names by which OpenTelemetry knows traces and spans, and what a caller says of its own.
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
// Of a generator of the thread's own. Good for names and for dice, not for secrets.
uint64_t RandomBits();

// The header field traceparent (W3C Trace Context).
struct TraceParent {
  TraceId trace{};
  SpanId span{};
  bool sampled = false;
};
// Nothing where it is malformed. Of a version to come, what the known one has.
std::optional<TraceParent> ParseTraceParent(std::string_view text);

}  // namespace weir
