// Bounds of what a client may send and leave waiting, over any version of HTTP.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "relay/server/server_settings.h"

namespace weir {

inline constexpr uint32_t kMaxHeaderBytes = 16 * 1024;
// The time for a client that has just connected, and has sent nothing or only a part of its request, when the server
// shuts down.
inline constexpr std::chrono::seconds kLastChance{1};
// The time for a client to take the last words while it is still sending: its input is read and dropped meanwhile. A
// connection that is closed over unread input is reset, and most clients take the reset of a stream for a failure of
// the whole, so that neither sees its answer.
inline constexpr std::chrono::seconds kLastWordsTaken{2};
// The most bytes of such a stream's body that are dropped.
inline constexpr uint64_t kMostDroppedBodyBytes = uint64_t{8} << 20;
// So much of a connection's requests may be kept without being counted.
inline constexpr size_t kUncountedBytes = 4096;

// Returns the longest body that is taken; a little if the method wants none.
inline uint64_t MostBodyBytes(const ServerSettings& settings, std::string_view method) {
  const bool wants_body = method != "GET" && method != "HEAD" && method != "OPTIONS";
  return wants_body ? settings.max_http_body_bytes : 4096;
}

}  // namespace weir
