// AgeSweep: removes the events that a rule of `remove` (relay/rules/retention_rules.h) names. It finds them by a filter
// for each rule, whose kinds and age are in the index, so events that are not old enough cost nothing.
//
// Events that the filter finds and that stay, because a rule keeps them or because of their author's rung, are read in
// every run. So a run begins a minute after the last one, or after twenty times as long as that took, but at the latest
// a day later: the sweep takes at most a twentieth of the time.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "config/clock.h"
#include "relay/retention/sweep_parts.h"
#include "relay/rules/retention_rules.h"

namespace weir {

class AgeSweep {
 public:
  static constexpr Duration kRunEvery = std::chrono::minutes(1);
  static constexpr Duration kLongestPause = std::chrono::hours(24);
  static constexpr int kPauseForTime = 20;

  explicit AgeSweep(SweepParts parts) : parts_(std::move(parts)) {}

  // Removes all events that are to go at this time. Calls `removed` after each batch, with the number of events and the
  // index of the rule; also with 0 events when it has read for about as long without one to remove.
  Status Run(const RetentionRules& rules, uint64_t now_seconds,
             const std::function<void(size_t rule, uint64_t events)>& removed);
  // Returns the time from the end of a run that took `time` to the next one.
  static Duration PauseAfter(Duration time) { return std::clamp(time * kPauseForTime, kRunEvery, kLongestPause); }

 private:
  const SweepParts parts_;
};

}  // namespace weir
