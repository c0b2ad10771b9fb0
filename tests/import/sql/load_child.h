// The environment variable that makes this test program run `weir load` instead of tests, as CommandChild needs it.
#pragma once

namespace weir {

inline constexpr const char* kLoadChild = "WEIR_LOAD_CHILD";

}  // namespace weir
