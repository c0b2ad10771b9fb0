// The slot, of 16384, in which a Redis Cluster keeps a key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

inline constexpr size_t kRedisSlots = 16384;

// Uses the text between the first '{' and the next '}', or the whole key if there is no such text or it is empty.
uint16_t RedisSlot(std::string_view key);
// Returns a short text that is in this slot.
std::string RedisTagOf(uint16_t slot);

}  // namespace weir
