// Ids of OpenTelemetry's traces and spans, and the header field traceparent, by which a client names the trace and the
// span to which a request belongs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

// These return random ids, never all zeros.
TraceId NewTraceId();
SpanId NewSpanId();
// Returns 64 random bits. Each thread has a generator of its own, so no thread waits. The bits are good for ids and for
// sampling, not for secrets.
uint64_t RandomBits();

// The values of the header field traceparent (W3C Trace Context).
struct TraceParent {
  TraceId trace{};
  SpanId span{};
  bool sampled = false;  // true if the client records this trace
};
// Returns the values, or nullopt if the field is empty or malformed. From a field of a later version it reads the
// values that this version knows.
std::optional<TraceParent> ParseTraceParent(std::string_view text);

}  // namespace weir
