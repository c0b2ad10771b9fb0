// KeyedLimits: how many requests a key may make in a window, and how many may wait. KeyedRules: which limits a key has.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "throttle/by_name/window_kind.h"

namespace re2 {
class RE2;
}

namespace weir {

struct KeyedLimits {
  std::chrono::duration<uint32_t, std::milli> window{1000};
  uint32_t max_requests = 100;  // 0: no request passes
  uint32_t max_waiting = 400;   // 0: no request waits
  WindowKind kind = WindowKind::kFixed;
  bool shared = true;  // with other processes, if the limiter has SharedWindows and CanBeShared

  bool operator==(const KeyedLimits&) const = default;
};
inline constexpr std::chrono::milliseconds kMinKeyedWindow{1};
inline constexpr std::chrono::hours kMaxKeyedWindow{24 * 31};
inline constexpr uint32_t kMostKeyedRequests = 1'000'000'000;
inline constexpr uint32_t kMostKeyedWaiting = 1'000'000;
// Returns an error that says what is out of range, with the range.
Status CheckKeyedLimits(const KeyedLimits& limits);

// A process asks for its part of a shared window over the network, and has to be answered within the window.
inline constexpr std::chrono::milliseconds kMinSharedWindow{100};
// Returns true for fixed windows that are long enough; other limits hold for each process.
inline bool CanBeShared(const KeyedLimits& limits) {
  return limits.kind == WindowKind::kFixed && limits.window >= kMinSharedWindow;
}

// Threads: any, once it is made.
class KeyedRules {
 public:
  struct Rule {
    std::string key;  // the exact key, or a regular expression (RE2) that matches the whole key
    bool is_pattern = false;
    KeyedLimits limits;
  };

  // Gives every key the limits `others`.
  explicit KeyedRules(const KeyedLimits& others = {});
  ~KeyedRules();
  // A rule for the exact key comes before patterns; among patterns the first that matches applies.
  static Result<std::shared_ptr<const KeyedRules>> Make(const KeyedLimits& others, std::vector<Rule> rules);

  const KeyedLimits& Of(std::string_view key) const;

 private:
  struct Pattern;

  KeyedLimits others_;
  std::vector<Rule> exact_;  // sorted by key
  std::vector<Pattern> patterns_;
};

}  // namespace weir
