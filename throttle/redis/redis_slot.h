// Computes the slot of a key. A Redis Cluster has 16384 slots, and each of them belongs to one of its nodes, which
// keeps the keys of the slot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

inline constexpr size_t kRedisSlots = 16384;

// Returns the slot of `key`. If there is a text between its first '{' and the next '}', the slot is that of the text,
// so that keys can share a slot; otherwise it is that of the whole key.
uint16_t RedisSlot(std::string_view key);
// Returns a short text whose slot is `slot`, which must be less than kRedisSlots.
std::string RedisTagOf(uint16_t slot);

}  // namespace weir
