// What a client may send and leave waiting, over whatever version of HTTP.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "relay/server/server_settings.h"

namespace weir {

inline constexpr uint32_t kMaxHeaderBytes = 16 * 1024;
// For a client that has just connected and said nothing yet, or a part of its request, when the server goes.
inline constexpr std::chrono::seconds kLastChance{1};
// For a client to take the last words while it is still sending: what it sends meanwhile is read and dropped. A
// connection that is closed over unread input is reset, and most clients take the reset of a stream for a failure of
// the whole, so that neither sees its answer.
inline constexpr std::chrono::seconds kLastWordsTaken{2};
// Bytes of such a stream's body that are dropped.
inline constexpr uint64_t kMostDroppedBodyBytes = uint64_t{8} << 20;
// Of what is kept of a connection's requests that counts.
inline constexpr size_t kUncountedBytes = 4096;

// Of a body; a little where none is wanted.
inline uint64_t MostBodyBytes(const ServerSettings& settings, std::string_view method) {
  const bool wants_body = method != "GET" && method != "HEAD" && method != "OPTIONS";
  return wants_body ? settings.max_http_body_bytes : 4096;
}

}  // namespace weir
