#include "throttle/descriptors/descriptor_shard.h"

#include <algorithm>
#include <limits>

namespace weir {
namespace {

// What a name holds beside its own bytes where they do not fit in the string: measured, with the table's bucket.
constexpr size_t kBytesBesideName = 112;

size_t BytesOf(std::string_view name) { return kBytesBesideName + name.size(); }

}  // namespace

int64_t DescriptorShard::NowSeconds() const {
  return std::chrono::floor<std::chrono::seconds>(surroundings_.wall_clock.Now()).time_since_epoch().count();
}

std::optional<DescriptorShard::Charged> DescriptorShard::Charge(const HashedName& name, LimitUnit unit, uint64_t hits) {
  const int64_t now = NowSeconds();
  const int64_t seconds = SecondsOf(unit);
  Charged charged{.until_reset = std::chrono::seconds(seconds - now % seconds)};
  const auto found = counts_.find(name);
  Count* count = found == counts_.end() ? nullptr : &found->second;
  if (count == nullptr) {
    if (hits == 0) return charged;
    count = Make(name, unit, now);
    if (count == nullptr) return std::nullopt;
  }
  if (MoveOn(now, count)) count->charged = 0;
  charged.before = count->charged;
  count->charged += std::min(hits, std::numeric_limits<uint64_t>::max() - count->charged);
  charged.after = count->charged;
  return charged;
}

bool DescriptorShard::MoveOn(int64_t now, Count* count) {
  const int64_t window = now / SecondsOf(count->unit);
  return std::exchange(count->window, window) < window;
}

DescriptorShard::Count* DescriptorShard::Make(const HashedName& name, LimitUnit unit, int64_t now) {
  forgotten_.Add(sweep_.InPassing(&counts_, [&](auto& held) { return HasEnded(now, &held); }));
  if (!surroundings_.bytes.Take(BytesOf(name.name))) return nullptr;
  if (next_sweep_ == TimePoint::max()) {
    next_sweep_ = surroundings_.clock.Now() + Sweep::kEvery;
    surroundings_.wants_tick(next_sweep_);
  }
  made_.Add(1);
  return &counts_.emplace(name.name, Count{.charged = 0, .window = now / SecondsOf(unit), .unit = unit}).first->second;
}

bool DescriptorShard::HasEnded(int64_t now, Counts::value_type* held) {
  if (!MoveOn(now, &held->second)) return false;
  surroundings_.bytes.GiveBack(BytesOf(held->first));
  return true;
}

void DescriptorShard::Tick() {
  const TimePoint now = surroundings_.clock.Now();
  if (now < next_sweep_) return;
  const int64_t seconds = NowSeconds();
  forgotten_.Add(sweep_.Some(&counts_, [&](auto& held) { return HasEnded(seconds, &held); }));
  next_sweep_ = counts_.empty() ? TimePoint::max() : now + Sweep::kEvery;
}

}  // namespace weir
