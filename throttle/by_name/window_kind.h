// WindowKind: how one window follows another.
#pragma once

#include <cstdint>

namespace weir {

enum class WindowKind : uint8_t {
  kFixed,    // one after the other: twice the limit may pass across an edge
  kSliding,  // never more than the limit in any window; a place comes free up to a 32nd of the window late
};

}  // namespace weir
