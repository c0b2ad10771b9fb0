// What checks share: a finding of each of several things, and figures in words.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "config/text/readable.h"
#include "relay/doctor/check.h"

namespace weir {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;

// Of the things the one that is worst off; of equals the first.
template <typename Things, typename Find>
std::optional<Finding> WorstOf(const Things& things, Find find) {
  std::optional<Finding> worst;
  for (const auto& thing : things) {
    std::optional<Finding> found = find(thing);
    if (found && (!worst || found->severity > worst->severity)) worst = std::move(found);
  }
  return worst;
}

inline std::string Percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, share < 0.0995 ? "%.1f %%" : "%.0f %%", share * 100);
  return text;
}

inline std::string Mebibytes(uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

inline std::string Milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 0.01 ? "%.1f ms" : "%.0f ms", seconds * 1000);
  return text;
}

inline uint64_t AsCount(double number) { return number > 0 ? static_cast<uint64_t>(number) : 0; }

// "1 event", "2 events"
inline std::string Count(uint64_t count, const std::string& what) {
  return ShortNumber(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace weir
