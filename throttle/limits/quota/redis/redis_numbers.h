// Converts numbers to and from the form in which the Lua scripts (redis_script.h) read and write them: one after the
// other, each as a double of 8 bytes, little-endian.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/clock.h"

namespace weir {

inline constexpr size_t kRedisNumberBytes = 8;

// Appends a number to `to`. Integers are exact up to 2^53.
inline void AppendRedisNumber(double number, std::string* to) {
  auto bits = std::bit_cast<uint64_t>(number);
  for (size_t i = 0; i < kRedisNumberBytes; ++i, bits >>= 8) *to += static_cast<char>(bits & 0xff);
}
inline void AppendRedisNumber(int64_t number, std::string* to) { AppendRedisNumber(static_cast<double>(number), to); }

// Returns the number at index `at` (the first number has index 0), or 0 if there is none.
inline double RedisNumberAt(std::string_view numbers, size_t at) {
  if (numbers.size() / kRedisNumberBytes <= at) return 0;
  uint64_t bits = 0;
  for (size_t i = kRedisNumberBytes; i > 0; --i)
    bits = bits << 8 | static_cast<uint8_t>(numbers[at * kRedisNumberBytes + i - 1]);
  return std::bit_cast<double>(bits);
}
// Returns the number without its fraction, clamped to the range of the result; 0 for NaN.
inline int64_t WholeRedisNumber(double number) {
  constexpr double kMost = 9'223'372'036'854'774'784.0;  // the largest double below 2^63
  return std::isnan(number) ? 0 : static_cast<int64_t>(std::clamp(number, -kMost, kMost));
}
inline int64_t RedisIntegerAt(std::string_view numbers, size_t at) {
  return WholeRedisNumber(RedisNumberAt(numbers, at));
}

// Returns the microseconds since 1970, rounded down.
inline int64_t ToRedisTime(WallTime time) {
  return std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch()).count();
}
// Returns the duration, clamped to 0 .. Duration::max(), because another program may have written any number.
inline Duration FromRedisMicros(int64_t micros) {
  constexpr int64_t kMost = std::chrono::floor<std::chrono::microseconds>(Duration::max()).count();
  return std::chrono::microseconds(std::clamp<int64_t>(micros, 0, kMost));
}
inline WallTime FromRedisTime(int64_t micros) { return WallTime(FromRedisMicros(micros)); }

}  // namespace weir
