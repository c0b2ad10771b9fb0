#include "throttle/memory_buyback.h"

#include <algorithm>

namespace weir {
namespace {

// A flush frees the memory of the memtables within a second or two.
constexpr Duration kPatience = std::chrono::seconds(2);

// A flush is work for the engine, so more frequent flushes would be a load of their own. Below the target they may be
// rarer.
constexpr Duration kFlushInterval = std::chrono::seconds(10);
constexpr Duration kEarlyFlushInterval = std::chrono::seconds(60);

constexpr double kCacheStep = 1.0 / 8;
constexpr double kLeastCache = 1.0 / 4;
constexpr Duration kShrinkInterval = std::chrono::seconds(1);
constexpr Duration kGiveBackInterval = std::chrono::seconds(10);

// The cache grows only while memory is this share of the target below the mark. This is more than a step of the cache,
// which is at most 0.075 of the target, because caches may have at most 0.60 of the target.
constexpr double kRoom = 0.10;
// The cache also grows below this share of the mark, because a low mark leaves no such room.
constexpr double kLowestShareOfMark = 0.5;

}  // namespace

MemoryBuyback::Step MemoryBuyback::Update(TimePoint now, double level, double mark) {
  const auto passed = [now](const std::optional<TimePoint>& last, Duration interval) {
    return !last || now - *last >= interval;
  };
  const bool is_high = high_.For(kPatience, now, level > mark) || level >= 1;
  const bool is_low = low_.For(kGiveBackInterval, now, level < std::max(mark - kRoom, kLowestShareOfMark * mark));
  Step step;
  if (is_high && passed(last_flush_, level >= 1 ? kFlushInterval : kEarlyFlushInterval)) {
    last_flush_ = now;
    step.flush = step.purge = true;
  }
  const double change = is_high ? -kCacheStep : is_low ? kCacheStep : 0;
  if (change != 0 && passed(last_change_, is_high ? kShrinkInterval : kGiveBackInterval)) {
    last_change_ = now;
    step.purge = step.purge || (is_high && cache_share_ > kLeastCache);
    cache_share_ = std::clamp(cache_share_ + change, kLeastCache, 1.0);
  }
  step.cache_share = cache_share_;
  return step;
}

}  // namespace weir
