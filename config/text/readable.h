// Formats numbers, shares, sizes and times for people, and makes any bytes, such as the name of a file, safe to print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/clock.h"

namespace weir {

std::string Fixed(double number, int decimals);  // with 2 decimals: "0.62", "12.00"
std::string Percent(double share);               // "4.2 %", "43 %", "103 %", for 0.042, 0.43 and 1.03
std::string ShortNumber(uint64_t number);        // "999", "23.0k", "115k", "1.20M"
std::string ReadableBytes(uint64_t bytes);       // "999 B", "78.1 MB", with 1 MB = 1,000,000 B
std::string ShortTime(Duration time);            // "0.3ms", "12ms", "3.1s"
std::string ClockTime(Duration time);            // "0:31", "1:02:03"

// These two make a whole number for ShortNumber and ReadableBytes: AsCount rounds down, RoundedCount to the nearest. A
// negative number or NaN becomes 0, a number above 9e18 becomes 9e18.
uint64_t AsCount(double number);
uint64_t RoundedCount(double number);

// Returns `bytes` in a form that is safe to print in a line of text, in a log or on a terminal. Each character that is
// unsafe to show (IsUnsafeToShow in utf8.h) becomes an escape such as \x09 (one byte) or \u202e (several bytes). If
// `bytes` are not valid UTF-8, every byte that is not ASCII becomes an escape such as \xff. A backslash stays as it is,
// so the result cannot be converted back.
std::string AsText(std::string_view bytes);

}  // namespace weir
