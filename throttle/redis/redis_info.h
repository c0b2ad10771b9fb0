// What a store must know of a server, as its INFO says it.
#pragma once

#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

inline constexpr int kOldestRedis = 7;

// "redis_version" of an INFO; empty where there is no such line.
std::string_view RedisInfoField(std::string_view info, std::string_view name);
// Of INFO server: the scripts need Redis 7. Who speaks like it and does not say a version may pass.
Status CheckRedisServer(std::string_view info);
// Of INFO memory: that it throws keys away when its memory is full. Empty: it does not.
std::string WarnOfEviction(std::string_view info);

}  // namespace weir
