#include "throttle/limits/descriptors/descriptor_shard.h"

#include <algorithm>
#include <limits>

namespace weir {
namespace {

// The memory of a name besides its text, with its bucket in the hash table. Measured with texts too long for
// std::string to store in place.
constexpr size_t kBytesBesideName = 112;
// Each look examines four buckets of the table. A name whose removal does not raise the rest of its rule is removed at
// once. Only after every kLooksForNoLoss looks, the shard removes the name whose removal raises the rest the least.
constexpr int kLooks = 16;
constexpr int kLooksForNoLoss = 4;

size_t BytesOf(std::string_view name) { return kBytesBesideName + name.size(); }
LimitUnit UnitOf(std::string_view name) { return static_cast<LimitUnit>(name[0]); }

}  // namespace

int64_t DescriptorShard::NowSeconds() const {
  return std::chrono::floor<std::chrono::seconds>(surroundings_.wall_clock.Now()).time_since_epoch().count();
}

std::optional<DescriptorShard::Charged> DescriptorShard::Charge(const HashedName& name, std::string_view rule,
                                                                uint64_t hits, bool may_begin) {
  const int64_t now = NowSeconds();
  const int64_t seconds = SecondsOf(UnitOf(name.name));
  const int64_t number = now / seconds;
  Charged charged{.until_reset = std::chrono::seconds(seconds - now % seconds)};
  const auto found = counts_.find(name);
  Window* window = found == counts_.end() ? nullptr : &found->second.window;
  if (window == nullptr || window->number < number) {
    if (!may_begin) return std::nullopt;
    if (hits == 0) {
      charged.before = charged.after = window == nullptr ? RestOf(rule, number) : 0;
      return charged;
    }
    if (window == nullptr) {
      Rule& of = RuleOf(rule, number);
      window = Make(name, &of, now);
      charged.with_others = window->charged > 0 || window == &of.rest;
    } else {
      window->charged = 0;
    }
  }
  window->number = number;
  charged.before = window->charged;
  window->charged += std::min(hits, std::numeric_limits<uint64_t>::max() - window->charged);
  charged.after = window->charged;
  return charged;
}

uint64_t DescriptorShard::RestOf(std::string_view rule, int64_t number) const {
  const auto found = rules_.find(HashedName(rule));
  return found == rules_.end() || found->second.rest.number < number ? 0 : found->second.rest.charged;
}

DescriptorShard::Rule& DescriptorShard::RuleOf(std::string_view name, int64_t number) {
  auto found = rules_.find(HashedName(name));
  if (found == rules_.end()) {
    found = rules_.emplace(name, Rule{.unit = UnitOf(name), .rest = {.charged = 0, .number = number}}).first;
    bytes_.TakeAnyway(BytesOf(name));  // even beyond the bound, because the configuration limits the number of rules
    if (next_sweep_ == TimePoint::max()) {
      next_sweep_ = surroundings_.clock.Now() + Sweep::kEvery;
      surroundings_.wants_tick(next_sweep_);
    }
  }
  MoveOn(number, &found->second.rest);
  return found->second;
}

DescriptorShard::Window* DescriptorShard::Make(const HashedName& name, Rule* rule, int64_t now) {
  const size_t bytes = BytesOf(name.name);
  if (!MakeRoom(bytes, *rule, now)) return &rule->rest;
  bytes_.TakeAnyway(bytes);
  rule->bytes += bytes;
  made_.Add(1);
  return &counts_.emplace(name.name, Count{.window = rule->rest, .rule = rule}).first->second.window;
}

bool DescriptorShard::MakeRoom(size_t bytes, const Rule& wanting, int64_t now) {
  gone_.Add(sweep_.InPassing(&counts_, [&](auto& held) { return HasEnded(now, &held); }));
  const size_t would_hold = wanting.bytes + bytes;
  const Counts::value_type* least = nullptr;
  uint64_t least_loss = std::numeric_limits<uint64_t>::max();
  for (int look = 1; !bytes_.HasRoom(bytes); ++look) {
    if (look > kLooks) return false;
    gone_.Add(sweep_.InPassing(&counts_, [&](auto& held) {
      if (HasEnded(now, &held)) return true;
      Rule& of = *held.second.rule;
      MoveOn(now / SecondsOf(of.unit), &of.rest);
      const uint64_t charged = held.second.window.charged;
      const uint64_t loss = charged - std::min(charged, of.rest.charged);
      if (loss < least_loss && (loss == 0 || of.bytes > would_hold)) {
        least_loss = loss;
        least = &held;
      }
      return false;
    }));
    if (least == nullptr || (least_loss > 0 && look % kLooksForNoLoss != 0)) continue;
    GiveWay(*least);
    least = nullptr;
    least_loss = std::numeric_limits<uint64_t>::max();
  }
  return true;
}

void DescriptorShard::GiveWay(const Counts::value_type& held) {
  Window& rest = held.second.rule->rest;
  rest.charged = std::max(rest.charged, held.second.window.charged);
  GiveBack(held);
  counts_.erase(counts_.find(HashedName(held.first)));
  gone_.Add(1);
  gave_way_.Add(1);
}

bool DescriptorShard::MoveOn(int64_t number, Window* window) {
  const bool ended = std::exchange(window->number, number) < number;
  if (ended) window->charged = 0;
  return ended;
}

bool DescriptorShard::HasEnded(int64_t now, Counts::value_type* held) {
  if (!MoveOn(now / SecondsOf(held->second.rule->unit), &held->second.window)) return false;
  GiveBack(*held);
  return true;
}

void DescriptorShard::GiveBack(const Counts::value_type& held) {
  const size_t bytes = BytesOf(held.first);
  held.second.rule->bytes -= bytes;
  bytes_.GiveBack(bytes);
}

void DescriptorShard::Tick() {
  const TimePoint now = surroundings_.clock.Now();
  if (now < next_sweep_) return;
  const int64_t seconds = NowSeconds();
  gone_.Add(sweep_.Some(&counts_, [&](auto& held) { return HasEnded(seconds, &held); }));
  rule_sweep_.Some(&rules_, [&](auto& held) {
    Rule& rule = held.second;
    if (rule.bytes > 0 || (!MoveOn(seconds / SecondsOf(rule.unit), &rule.rest) && rule.rest.charged > 0)) return false;
    bytes_.GiveBack(BytesOf(held.first));
    return true;
  });
  next_sweep_ = counts_.empty() && rules_.empty() ? TimePoint::max() : now + Sweep::kEvery;
}

}  // namespace weir
