// Reads from a server's reply to INFO what a store must know about the server.
#pragma once

#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

inline constexpr int kOldestRedis = 7;  // the oldest major version that weir supports

// Returns the value of a field such as "redis_version", or an empty text if the reply has no such field.
std::string_view RedisInfoField(std::string_view info, std::string_view name);
// Checks the reply to INFO server. Returns an error for a Sentinel, and for a Redis older than kOldestRedis, which
// cannot run the scripts. Accepts a server that states no version.
Status CheckRedisServer(std::string_view info);
// Checks the reply to INFO memory. Returns a warning if the server deletes keys when its memory is full, else an empty
// text.
std::string WarnOfEviction(std::string_view info);

}  // namespace weir
