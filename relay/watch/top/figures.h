// Formats figures of the feed for people, as the page at /live does. A figure without a value (NaN) becomes "–".
#pragma once

#include <string>

namespace weir {

std::string LevelText(float level);      // "0.31"
std::string RateText(float rate);        // per second: "0", "1.2", "23.0k"
std::string CountText(float count);      // "12", "1.20M"
std::string BytesText(float bytes);      // "78.1 MB"
std::string SpeedText(float bytes);      // bytes per second: "78.1 MB/s"
std::string SecondsText(float seconds);  // "0.3ms"
std::string CoresText(float cores);      // in percent of one core: "43 %"

}  // namespace weir
