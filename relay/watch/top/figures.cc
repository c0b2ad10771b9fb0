#include "relay/watch/top/figures.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "config/text/readable.h"

namespace weir {
namespace {

constexpr const char* kNothing = "–";

std::string Fixed(double number, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, number);
  return text;
}

// Rounds the number, after clamping it to 0 … 1e18.
uint64_t Whole(float number) { return static_cast<uint64_t>(std::llround(std::clamp(double{number}, 0.0, 1e18))); }

}  // namespace

std::string LevelText(float level) {
  return std::isnan(level) ? kNothing : Fixed(std::clamp(double{level}, -9.0, 999.0), 2);
}
std::string RateText(float rate) {
  if (std::isnan(rate)) return kNothing;
  return rate > 0 && rate < 9.95 ? Fixed(rate, 1) : ShortNumber(Whole(rate));
}
std::string CountText(float count) { return std::isnan(count) ? kNothing : ShortNumber(Whole(count)); }
std::string BytesText(float bytes) { return std::isnan(bytes) ? kNothing : ReadableBytes(Whole(bytes)); }
std::string SpeedText(float bytes) { return std::isnan(bytes) ? kNothing : BytesText(bytes) + "/s"; }
std::string SecondsText(float seconds) {
  return std::isnan(seconds) ? kNothing : ShortTime(FromSeconds(std::clamp(double{seconds}, 0.0, 1e6)));
}
std::string CoresText(float cores) {
  return std::isnan(cores) ? kNothing : Fixed(std::clamp(100.0 * cores, 0.0, 1e6), cores < 0.0995F ? 1 : 0) + " %";
}

}  // namespace weir
