// Computes the slot of a key. A Redis Cluster has 16384 slots. Each slot belongs to one of its nodes, which stores the
// keys of the slot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

inline constexpr size_t kRedisSlots = 16384;

// Returns the slot of `key`. If there is a text between its first '{' and the next '}', returns the slot of that text,
// so that different keys can share a slot; otherwise returns the slot of the whole key.
uint16_t RedisSlot(std::string_view key);
// Returns a short text whose slot is `slot`. REQUIRES: `slot` is below kRedisSlots.
std::string RedisTagOf(uint16_t slot);

}  // namespace weir
