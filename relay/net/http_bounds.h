// Bounds on the data that a client may send and may leave waiting, for all versions of HTTP.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "relay/net/server_settings.h"

namespace weir {

inline constexpr uint32_t kMaxHeaderBytes = 16 * 1024;  // the longest header of a request
// The time that a client gets, when the server shuts down, to send the rest of a request that has begun to arrive, or,
// if the client has just connected, its first request.
inline constexpr std::chrono::seconds kLastChance{1};
// The time that a client gets to receive the last answer while it is still sending. Meanwhile the server reads and
// drops the input: if it closed the connection while input is unread, the system would reset the connection, and the
// client might lose the answer. Over HTTP/2 the server resets a stream only after the same time, because most clients
// take a reset for a failure of the whole request.
inline constexpr std::chrono::seconds kLastWordsTaken{2};
// The most bytes of a body that the server drops during kLastWordsTaken over HTTP/2. Beyond it the stream is reset at
// once.
inline constexpr uint64_t kMostDroppedBodyBytes = uint64_t{8} << 20;
// While a connection holds at most this many bytes of requests, they are not counted in the client's account.
inline constexpr size_t kUncountedBytes = 4096;

// Returns the length of the longest body that is accepted: max_http_body_bytes, or 4 KiB for a method that needs no
// body.
inline uint64_t MostBodyBytes(const ServerSettings& settings, std::string_view method) {
  const bool wants_body = method != "GET" && method != "HEAD" && method != "OPTIONS";
  return wants_body ? settings.max_http_body_bytes : 4096;
}

}  // namespace weir
