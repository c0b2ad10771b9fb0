#include "config/wire/redis/redis_slot.h"

#include <array>
#include <cstddef>

namespace weir {

namespace {

// The table for CRC-16/XMODEM: the polynomial is 0x1021, the initial value is 0, and no bits are reflected.
constexpr std::array<uint16_t, 256> MakeTable() {
  std::array<uint16_t, 256> table{};
  for (size_t byte = 0; byte < table.size(); ++byte) {
    uint32_t crc = static_cast<uint32_t>(byte) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
    table[byte] = static_cast<uint16_t>(crc);
  }
  return table;
}
constexpr std::array<uint16_t, 256> kTable = MakeTable();

uint16_t Crc16(std::string_view bytes) {
  uint16_t crc = 0;
  for (const char c : bytes) {
    crc = static_cast<uint16_t>((crc << 8) ^ kTable[(crc >> 8) ^ static_cast<unsigned char>(c)]);
  }
  return crc;
}

// Finds for each slot the lowest number whose decimal form has this slot.
std::array<uint32_t, kRedisSlots> FindTags() {
  constexpr uint32_t kNone = UINT32_MAX;
  std::array<uint32_t, kRedisSlots> tags{};
  tags.fill(kNone);
  size_t missing = kRedisSlots;
  for (uint32_t number = 0; missing > 0; ++number) {
    uint32_t& tag = tags[RedisSlot(std::to_string(number))];
    if (tag != kNone) continue;
    tag = number;
    --missing;
  }
  return tags;
}

}  // namespace

std::string RedisTagOf(uint16_t slot) {
  static const std::array<uint32_t, kRedisSlots> kTags = FindTags();
  return std::to_string(kTags[slot]);
}

uint16_t RedisSlot(std::string_view key) {
  if (const size_t open = key.find('{'); open != std::string_view::npos) {
    const size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close != open + 1) key = key.substr(open + 1, close - open - 1);
  }
  return static_cast<uint16_t>(Crc16(key) % kRedisSlots);
}

}  // namespace weir
