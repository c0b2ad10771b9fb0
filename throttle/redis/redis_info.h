// Reads what a store must know about a server from the server's reply to INFO.
#pragma once

#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

inline constexpr int kOldestRedis = 7;  // major version

// Returns the value of a field such as "redis_version"; empty if the reply has no such field.
std::string_view RedisInfoField(std::string_view info, std::string_view name);
// Checks the reply to INFO server. Returns an error for a Sentinel, and for a Redis older than kOldestRedis, which
// cannot run the scripts. A server that states no version passes.
Status CheckRedisServer(std::string_view info);
// Returns a warning if the reply to INFO memory says that the server deletes keys when its memory is full; otherwise an
// empty text.
std::string WarnOfEviction(std::string_view info);

}  // namespace weir
