// Bounds on the data that a client may send and may leave waiting, for all versions of HTTP.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "relay/server/server_settings.h"

namespace weir {

inline constexpr uint32_t kMaxHeaderBytes = 16 * 1024;  // the longest header of a request
// The time, when the server shuts down, for the rest of a request that has begun to arrive, and for the first request
// of a client that has just connected.
inline constexpr std::chrono::seconds kLastChance{1};
// The time for a client to take the last answer while it is still sending. Meanwhile its input is read and dropped: if
// a connection is closed while input is unread, the system resets it, and the client may lose the answer. Over HTTP/2
// a stream is reset only after the same time, because most clients take a reset for a failure of the whole request.
inline constexpr std::chrono::seconds kLastWordsTaken{2};
// The most bytes of a body that are dropped during kLastWordsTaken over HTTP/2. Beyond it the stream is reset at once.
inline constexpr uint64_t kMostDroppedBodyBytes = uint64_t{8} << 20;
// The most bytes of requests that a connection may hold without a count in the client's account.
inline constexpr size_t kUncountedBytes = 4096;

// Returns the length of the longest body that is accepted. A method that needs no body may have a body of 4 KB.
inline uint64_t MostBodyBytes(const ServerSettings& settings, std::string_view method) {
  const bool wants_body = method != "GET" && method != "HEAD" && method != "OPTIONS";
  return wants_body ? settings.max_http_body_bytes : 4096;
}

}  // namespace weir
