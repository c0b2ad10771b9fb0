#include "config/text/parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "config/text/readable.h"

namespace weir {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr size_t kPrintableBytes = 60;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return Lower(x) == Lower(y); });
}

template <typename Number>
Result<Number> ParseWithin(std::string_view text, const NumberRange& range, std::string_view kind) {
  text = TrimBlanks(text);
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool is_number =
      stop == end && error != std::errc::invalid_argument && std::isfinite(static_cast<double>(number));
  if (!is_number) return Status::Error("not " + std::string(kind) + " within " + FormatRangeAndUnit(range));
  const auto value = static_cast<double>(number);
  if (error == std::errc::result_out_of_range || value < range.min || value > range.max)
    return Status::Error("not within " + FormatRangeAndUnit(range));
  return number;
}

// Returns how many insertions, deletions, changes and swaps of neighbours turn a into b.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

Result<bool> ParseBool(std::string_view text) {
  static constexpr std::array<std::string_view, 4> kTrue = {"true", "1", "yes", "on"};
  static constexpr std::array<std::string_view, 4> kFalse = {"false", "0", "no", "off"};
  text = TrimBlanks(text);
  const auto is_text = [&](std::string_view word) { return EqualIgnoringCase(word, text); };
  if (std::ranges::any_of(kTrue, is_text)) return true;
  if (std::ranges::any_of(kFalse, is_text)) return false;
  return Status::Error("not true or false (nor 1, 0, yes, no, on, off)");
}

Result<double> ParseNumber(std::string_view text, const NumberRange& range) {
  return ParseWithin<double>(text, range, "a number");
}

Result<int64_t> ParseInteger(std::string_view text, const NumberRange& range) {
  return ParseWithin<int64_t>(text, range, "a whole number");
}

Result<uint64_t> ParseUnsigned(std::string_view text, const NumberRange& range) {
  // A negative number is reported as out of range, not as no number, so that the message says what is wrong with it.
  int64_t negative = 0;
  text = TrimBlanks(text);
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), negative);
  if (stop == text.data() + text.size() && text.starts_with('-') && error != std::errc::invalid_argument &&
      negative <= 0)
    return Status::Error("not within " + FormatRangeAndUnit(range));
  return ParseWithin<uint64_t>(text, range, "a whole number");
}

Result<size_t> ParseWord(std::string_view text, const std::vector<std::string>& words) {
  text = TrimBlanks(text);
  const auto found =
      std::ranges::find_if(words, [&](const std::string& word) { return EqualIgnoringCase(word, text); });
  if (found == words.end()) return Status::Error("not one of " + Join(words, "|"));
  return static_cast<size_t>(found - words.begin());
}

Status CheckRange(std::string_view name, double value, const NumberRange& range) {
  if (value >= range.min && value <= range.max) return {};
  return Status::Error(std::string(name) + " is " + FormatNumber(value) + ", not within " + FormatRangeAndUnit(range));
}

std::string FormatNumber(double number) {
  // Use fixed notation for numbers that people type; for larger and smaller ones it would be a row of zeros.
  const double magnitude = std::abs(number);
  const bool fixed = magnitude == 0 || (magnitude >= 1e-6 && magnitude < 1e15);
  std::array<char, 400> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                    fixed ? std::chars_format::fixed : std::chars_format::general);
  return std::string(buffer.data(), result.ptr);
}

std::string FormatRange(const NumberRange& range) { return FormatNumber(range.min) + ".." + FormatNumber(range.max); }

std::string FormatRangeAndUnit(const NumberRange& range) {
  std::string text = FormatRange(range);
  if (!range.unit.empty()) text.append(" (").append(range.unit).append(")");
  return text;
}

std::string Join(const std::vector<std::string>& words, std::string_view separator) {
  std::string joined;
  for (const std::string& word : words) {
    if (&word != &words.front()) joined += separator;
    joined += word;
  }
  return joined;
}

std::string_view TrimBlanks(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string Printable(std::string_view text) {
  size_t end = std::min(text.size(), kPrintableBytes);
  // Do not cut within a character. At most three bytes follow its first byte; if more do, the text is no UTF-8.
  const auto follows = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; };
  for (size_t back = 0; end < text.size() && back <= 3; ++back) {
    if (follows(end - back)) continue;
    end -= back;
    break;
  }
  std::string out = AsText(text.substr(0, end));
  if (end < text.size()) out += "...";
  return out;
}

std::string_view NearestName(std::string_view name, const std::vector<std::string_view>& candidates) {
  // If more than a third of a name is wrong, it is no typing error.
  size_t best_distance = std::min<size_t>(name.size() / 3, 4) + 1;
  std::string_view best;
  for (const std::string_view candidate : candidates) {
    const size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) >= best_distance) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace weir
