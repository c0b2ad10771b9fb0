// Reads a span of time that a user wrote.
#pragma once

#include <cstdint>
#include <string_view>

#include "config/status.h"

namespace weir {

// Accepts "90s", "15m", "2h" and "30d", at most ten years, and returns the seconds. The error completes a sentence that
// begins with the text.
Result<uint64_t> ParseSpan(std::string_view text);

}  // namespace weir
