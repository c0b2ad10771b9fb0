// Converts text to values and values to text. The Parse functions ignore blanks around the text. Their errors complete
// a sentence that begins with the text: "not within 0..1 (fraction)", "not a whole number within 1..65535".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"

namespace weir {

// The least and the greatest number that are allowed. `unit` is shown in messages: "MiB", "ms", "files", "fraction".
struct NumberRange {
  double min;
  double max;
  std::string_view unit = "";
};

// Accepts true, false, 1, 0, yes, no, on and off, in upper or lower case.
Result<bool> ParseBool(std::string_view text);
// Accepts finite decimal numbers within the range: no infinity, NaN or hexadecimal.
Result<double> ParseNumber(std::string_view text, const NumberRange& range);
// These two accept whole decimal numbers within the range.
Result<int64_t> ParseInteger(std::string_view text, const NumberRange& range);
Result<uint64_t> ParseUnsigned(std::string_view text, const NumberRange& range);
// Returns the index of the first word that equals the text, whether in upper or lower case.
Result<size_t> ParseWord(std::string_view text, const std::vector<std::string>& words);

// Returns an error that names the setting, its value and the range if the value is not within the range.
Status CheckRange(std::string_view name, double value, const NumberRange& range);
inline Status CheckRange(std::string_view name, std::chrono::milliseconds value, const NumberRange& range) {
  return CheckRange(name, static_cast<double>(value.count()), range);
}

// Returns a text that ParseNumber reads back as `number`, with no more digits than that needs. Has an exponent only for
// numbers from 1e15 on and below 1e-6. `number` must be finite.
std::string FormatNumber(double number);
std::string FormatRange(const NumberRange& range);         // "0.05..1"
std::string FormatRangeAndUnit(const NumberRange& range);  // "0.05..1 (fraction)"
// Returns the words with the separator between them.
std::string Join(const std::vector<std::string>& words, std::string_view separator);
// Returns the part of `text` without the spaces, tabs and line ends around it.
std::string_view TrimBlanks(std::string_view text);

// Returns a user's text in a form that fits into a one-line message: at most its first 60 bytes, as AsText (readable.h)
// writes them. A longer text is cut between two characters and ends with "...".
std::string Printable(std::string_view text);

// Returns the candidate that is nearest to `name` by edit distance, or the first of equally near ones; the result
// points into `candidates`. Returns an empty text if every candidate differs in more than a third of the bytes of
// `name`, or in more than four.
std::string_view NearestName(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace weir
