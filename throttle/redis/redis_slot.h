// In which of its 16384 slots a Redis Cluster keeps a key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

inline constexpr size_t kRedisSlots = 16384;

// Of what is between the first '{' and the next '}', or of the whole key where there is nothing between them.
uint16_t RedisSlot(std::string_view key);
// A short text whose slot it is.
std::string RedisTagOf(uint16_t slot);

}  // namespace weir
