// Converts text to values and back, exactly: the whole text must match, except for surrounding blanks. The errors
// complete a sentence that begins with the value: "not within 0..1 (fraction)", "not a whole number within 1..65535".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"

namespace weir {

// Inclusive bounds; `unit` is for the reader ("MiB", "ms", "files", "fraction").
struct NumberRange {
  double min;
  double max;
  std::string_view unit = "";
};

// Accepts true, false, 1, 0, yes, no, on, off, in any case.
Result<bool> ParseBool(std::string_view text);
// Accepts finite decimal numbers only: no infinity, NaN or hexadecimal.
Result<double> ParseNumber(std::string_view text, const NumberRange& range);
Result<int64_t> ParseInteger(std::string_view text, const NumberRange& range);
Result<uint64_t> ParseUnsigned(std::string_view text, const NumberRange& range);
// Returns the index of the word that the text equals, in any case.
Result<size_t> ParseWord(std::string_view text, const std::vector<std::string>& words);

// The shortest text that ParseNumber reads back as the same number.
std::string FormatNumber(double number);
std::string FormatRange(const NumberRange& range);         // "0.05..1"
std::string FormatRangeAndUnit(const NumberRange& range);  // "0.05..1 (fraction)"
std::string Join(const std::vector<std::string>& words, std::string_view separator);
std::string_view TrimBlanks(std::string_view text);

// Makes a user's text fit for a one-line message: AsText, cut after 60 bytes.
std::string Printable(std::string_view text);

// Returns the nearest candidate by edit distance; empty if none is near enough to be the one that was meant.
std::string_view NearestName(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace weir
