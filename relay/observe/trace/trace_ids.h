// Makes the ids of OpenTelemetry's traces and spans. Parses the header field traceparent, in which a client names the
// trace and the span to which its request belongs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

// These two functions return random ids, never all zeros.
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
// Returns the values, or nullopt if the field is empty or malformed. If the field has a later version than 00, returns
// the values that version 00 defines.
std::optional<TraceParent> ParseTraceParent(std::string_view text);

}  // namespace weir
