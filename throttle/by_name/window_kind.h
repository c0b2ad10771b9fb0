// WindowKind: how the windows of a limit follow each other in time.
#pragma once

#include <cstdint>

namespace weir {

enum class WindowKind : uint8_t {
  kFixed,    // one after the other; up to twice the limit may pass in a stretch across the edge between two windows
  kSliding,  // never more than the limit in any stretch; a grant stops counting up to a 32nd of the window late
};

}  // namespace weir
