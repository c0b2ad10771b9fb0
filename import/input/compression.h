// The compressions that imports read and exports write.
#pragma once

#include <cstdint>

namespace weir {

enum class Compression : uint8_t { kNone, kGzip, kZstd };

}  // namespace weir
