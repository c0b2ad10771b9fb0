// WindowKind: whether the windows of a limit follow each other or slide with the time.
#pragma once

#include <cstdint>

namespace weir {

enum class WindowKind : uint8_t {
  kFixed,    // a window begins when the one before ends; a period across their boundary may see up to twice the limit
  kSliding,  // no period of the window's length sees more than the limit; a grant counts up to 1/32 longer
};

}  // namespace weir
