// BudgetSweep: removes events for the disk budget, beginning with those that the relay misses least:
//
//   1. authors by their rung of the trust ladder: reported, strangers, newcomers, regulars, trusted
//   2. on the same rung, the events that came first
//
// The newest tenth of the stored events is spared until there are no others. So a flood of fresh keys takes at most a
// tenth of the events from others, and a new author's note does not go at once.
//
// "Came first" means the order of serials, not created_at, which the author chooses: an event that is dated back, or
// dated ahead, gains nothing. Each rung has a place in this order, up to which its events are gone; the sweep goes on
// from there, so it reads an event about once for each rung. Once a day, and when the rules have changed, it begins at
// the first event again, because authors may have lost their standing.
//
// Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "config/clock.h"
#include "relay/retention/sweep_parts.h"
#include "relay/rules/retention_rules.h"
#include "relay/store/serial.h"

namespace weir {

class BudgetSweep {
 public:
  // The part of the stored events, by the order in which they came, that is spared at first.
  static constexpr uint64_t kSparedPart = 10;
  static constexpr Duration kBeginAgainAfter = std::chrono::hours(24);
  // If nothing was left to remove, the sweep looks through the events again after this time.
  static constexpr Duration kLookAgainAfter = std::chrono::minutes(10);

  struct Swept {
    std::array<uint64_t, kRungs> removed{};  // events, by the rung of their author
    bool nothing_left = false;               // all other events are kept by rules
  };

  explicit BudgetSweep(SweepParts parts) : parts_(std::move(parts)) {}

  // Removes about `events` events that `rules` do not keep. After an error, `*swept` has what was removed before.
  Status Remove(uint64_t events, const RetentionRules& rules, TimePoint now, Swept* swept);
  // Begins at the first event again, for rules that have changed.
  void BeginAgain() { begun_.reset(); }

 private:
  // Each returns true if `left` events were removed before the end of the part was reached.
  Result<bool> RemoveOf(Rung rung, const Moment& until, const RetentionRules& rules, uint64_t* left, Swept* swept);
  Result<bool> RemoveSlice(Rung rung, const Moment& until, const RetentionRules& rules, uint64_t* left, Swept* swept);

  const SweepParts parts_;
  std::array<Moment, kRungs> passed_;  // by rung: the events up to here are gone, kept, or of a higher rung
  std::optional<TimePoint> begun_;
  std::optional<TimePoint> nothing_left_since_;
};

}  // namespace weir
