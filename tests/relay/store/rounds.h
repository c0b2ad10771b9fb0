// Returns the number of rounds of a long test: few by default, more if an environment variable says so.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace weir {

// Returns the number in the environment's `variable`, or `by_default` if it is not set.
inline uint64_t RoundsBy(const char* variable, uint64_t by_default) {
  const char* rounds = std::getenv(variable);
  return rounds != nullptr ? std::strtoull(rounds, nullptr, 10) : by_default;
}

}  // namespace weir
