// The number of rounds of a long test: the build's for a quick verdict, an operator's for a long run.
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
