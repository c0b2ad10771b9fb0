#include "config/text/in_words.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "config/text/parse.h"

namespace weir {
namespace {

std::string Parts(int64_t count, int64_t per_large, const std::string& large, const std::string& small) {
  std::string text = std::to_string(count / per_large) + large;
  if (count % per_large != 0) text += " " + std::to_string(count % per_large) + small;
  return text;
}

}  // namespace

std::string InWords(Duration time) {
  using std::chrono::ceil;
  using Tenths = std::chrono::duration<int64_t, std::deci>;
  const int64_t tenths = std::max<int64_t>(0, ceil<Tenths>(time).count());
  if (tenths < 100) return FormatNumber(static_cast<double>(tenths) / 10) + " s";
  const int64_t seconds = ceil<std::chrono::seconds>(time).count();
  if (seconds < 60) return std::to_string(seconds) + " s";
  if (seconds < 3600) return Parts(seconds, 60, " min", " s");
  const int64_t minutes = ceil<std::chrono::minutes>(time).count();
  if (minutes < int64_t{48} * 60) return Parts(minutes, 60, " h", " min");
  return Parts(ceil<std::chrono::hours>(time).count(), 24, " days", " h");
}

std::string InWords(double seconds) { return InWords(FromSeconds(seconds > 0 ? std::min(seconds, 1e9) : 0)); }

}  // namespace weir
