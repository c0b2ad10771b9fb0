#include "relay/watch/top/figures.h"

#include <algorithm>
#include <cmath>

#include "config/text/readable.h"

namespace weir {
namespace {

constexpr const char* kNothing = "–";

}  // namespace

std::string LevelText(float level) {
  return std::isnan(level) ? kNothing : Fixed(std::clamp(double{level}, -9.0, 999.0), 2);
}
std::string RateText(float rate) {
  if (std::isnan(rate)) return kNothing;
  return rate > 0 && rate < 9.95 ? Fixed(rate, 1) : ShortNumber(RoundedCount(rate));
}
std::string CountText(float count) { return std::isnan(count) ? kNothing : ShortNumber(RoundedCount(count)); }
std::string BytesText(float bytes) { return std::isnan(bytes) ? kNothing : ReadableBytes(RoundedCount(bytes)); }
std::string SpeedText(float bytes) { return std::isnan(bytes) ? kNothing : BytesText(bytes) + "/s"; }
std::string SecondsText(float seconds) {
  return std::isnan(seconds) ? kNothing : ShortTime(FromSeconds(std::clamp(double{seconds}, 0.0, 1e6)));
}
std::string CoresText(float cores) {
  return std::isnan(cores) ? kNothing : Percent(std::clamp(double{cores}, 0.0, 1e4));
}

}  // namespace weir
