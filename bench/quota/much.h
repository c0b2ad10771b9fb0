// A limit that no benchmark reaches.
#pragma once

#include <cstdint>

namespace weir {

inline constexpr int64_t kMuch = 1'000'000'000'000;

}  // namespace weir
