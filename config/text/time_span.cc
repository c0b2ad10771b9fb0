#include "config/text/time_span.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "config/text/parse.h"

namespace weir {

Result<uint64_t> ParseSpan(std::string_view text) {
  static constexpr std::pair<char, uint64_t> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86'400}};
  constexpr uint64_t kMostSeconds = uint64_t{3650} * 86'400;
  const char last = text.empty() ? '\0' : text.back();
  const auto* const unit = std::ranges::find(kUnits, last, &std::pair<char, uint64_t>::first);
  if (unit != std::end(kUnits)) {
    const uint64_t most = kMostSeconds / unit->second;
    const Result<uint64_t> number =
        ParseUnsigned(text.substr(0, text.size() - 1), {.min = 0, .max = static_cast<double>(most)});
    if (number.ok()) return number.value() * unit->second;
  }
  return Status::Error("not a time such as 30d, 12h, 15m or 90s, of at most ten years");
}

}  // namespace weir
