// Numbers, sizes and times as people read them, and names of files as they can stand in a line of text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/clock.h"

namespace weir {

std::string ShortNumber(uint64_t number);   // "999", "23.0k", "115k", "1.20M"
std::string ReadableBytes(uint64_t bytes);  // "999 B", "78.1 MB": powers of ten, as ls --si and disks have them
std::string ShortTime(Duration time);       // "0.3ms", "12ms", "3.1s"
std::string ClockTime(Duration time);       // "0:31", "1:02:03"

// Makes any bytes fit for a line of text, a log or a terminal: writes characters that are unsafe to show (utf8.h) as
// \x09 or \u202e, and every byte beyond ASCII as \xff if the whole is not UTF-8.
std::string AsText(std::string_view bytes);

}  // namespace weir
