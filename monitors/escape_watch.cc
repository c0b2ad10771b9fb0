#include "monitors/escape_watch.h"

#include <cmath>
#include <utility>

namespace weir {
namespace {

// After this time without a brake of the engine's, the next one is told again.
constexpr Duration kLeastCalm = std::chrono::seconds(10);

}  // namespace

void EscapeWatch::Take(bool braking) {
  if (braking && !braking_) ++seen_;
  braking_ = braking;
}

std::string EscapeWatch::Tell(TimePoint now, bool stops, const std::string& family, const LoadSample& sample) {
  const std::optional<uint64_t> told = std::exchange(told_escapes_, sample.escapes);
  if (!told || !(braking_ || sample.escapes > *told)) return "";
  const std::optional<TimePoint> before = std::exchange(last_, now);
  if (before && now - *before < kLeastCalm) return "";
  std::string levels;
  for (const Signal& s : sample.signals())
    if (s.acts_on_writes)
      levels += " " + std::string(s.name) + " " + std::to_string(std::lround(s.level * 100)) + " %,";
  if (!levels.empty()) levels.back() = '.';
  return std::string("RocksDB ") + (stops ? "stops" : "slows down") + " writes by itself although they are limited" +
         (family.empty() ? "" : ", because of column family " + family) +
         ". Let all writes ask for admission, and watch all column families. RocksDB brakes at 100 %; now:" + levels;
}

}  // namespace weir
