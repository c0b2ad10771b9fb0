#include "throttle/limits/queued/allowance.h"

#include <algorithm>

namespace weir {
namespace {

// The longest delay for which the allowance makes up. After a longer stop of the process, making up for the whole stop
// would let many requests pass at once.
constexpr Duration kMostMadeUp = std::chrono::milliseconds(100);

using Algorithm = EndpointConfig::Algorithm;

bool HasPace(Algorithm algorithm) { return algorithm == Algorithm::kStrict || algorithm == Algorithm::kTokenBucket; }
uint32_t BurstOf(const EndpointConfig& config) { return std::max(1U, config.burst_size); }
WindowKind KindOf(const EndpointConfig& config) {
  return config.algorithm == Algorithm::kSlidingWindow ? WindowKind::kSliding : WindowKind::kFixed;
}
uint32_t MostOf(const EndpointConfig& config) {
  return config.algorithm == Algorithm::kSlidingWindow ? config.most_in_window : config.tokens_per_window;
}

}  // namespace

std::variant<Pace, GrantWindow> Allowance::Make(const EndpointConfig& config, TimePoint now) {
  if (HasPace(config.algorithm)) return Pace(now, config.per_second(), BurstOf(config));
  return GrantWindow(now, config.window, KindOf(config), 0);
}

Allowance::Allowance(const EndpointConfig& config, TimePoint now)
    : now_(now), algorithm_(config.algorithm), window_(config.window), most_(MostOf(config)), by_(Make(config, now)) {}

bool Allowance::Advance(TimePoint now) {
  now_ = std::max(now_, now);
  auto* window = std::get_if<GrantWindow>(&by_);
  if (window == nullptr) return false;
  const uint32_t before = window->used();
  window->Advance(now_);
  return counts_tokens() && window->used() < before;
}

void Allowance::Change(const EndpointConfig& config, TimePoint now) {
  Advance(now);
  const bool goes_on = config.algorithm == algorithm_ || (HasPace(config.algorithm) && HasPace(algorithm_));
  if (!goes_on) {
    *this = Allowance(config, now_);
    return;
  }
  algorithm_ = config.algorithm;
  if (auto* pace = std::get_if<Pace>(&by_)) {
    pace->Change(now_, config.per_second(), BurstOf(config));
  } else if (config.window != window_) {
    std::get<GrantWindow>(by_).Change(now_, config.window, KindOf(config));
  }
  window_ = config.window;
  most_ = MostOf(config);
}

bool Allowance::Holds(uint32_t cost) const {
  if (const auto* pace = std::get_if<Pace>(&by_)) return pace->Next() <= now_;
  return left() >= (counts_tokens() ? cost : 1);
}

void Allowance::Take(uint32_t cost, TimePoint since) {
  if (auto* pace = std::get_if<Pace>(&by_)) {
    pace->Take(std::max(since, now_ - kMostMadeUp));
  } else {
    std::get<GrantWindow>(by_).Add(counts_tokens() ? cost : 1);
  }
}

TimePoint Allowance::NextRoom() const {
  if (const auto* pace = std::get_if<Pace>(&by_)) return pace->Next();
  const auto& window = std::get<GrantWindow>(by_);
  return window.used() > 0 ? window.NextLeaves() : now_;
}

uint32_t Allowance::left() const {
  if (const auto* pace = std::get_if<Pace>(&by_)) return pace->AtOnce(now_);
  return most_ - std::min(most_, std::get<GrantWindow>(by_).used());
}

bool Allowance::IsFresh() const {
  if (const auto* pace = std::get_if<Pace>(&by_)) return pace->IsFresh(now_);
  return std::get<GrantWindow>(by_).used() == 0;
}

}  // namespace weir
