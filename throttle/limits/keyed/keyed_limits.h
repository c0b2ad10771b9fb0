// KeyedLimits: how many requests for a key may pass in a window, and how many may wait. KeyedRules: finds the limits of
// a key. Both are used by KeyedLimiter (keyed_limiter.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "throttle/limits/by_name/window_kind.h"

namespace re2 {
class RE2;
}

namespace weir {

struct KeyedLimits {
  std::chrono::duration<uint32_t, std::milli> window{1000};
  uint32_t max_requests = 100;  // 0: no request passes
  uint32_t max_waiting = 400;   // the most requests in line; 0: no request waits
  WindowKind kind = WindowKind::kFixed;
  bool shared = true;  // whether all processes count together, if there are SharedWindows and CanBeShared is true

  bool operator==(const KeyedLimits&) const = default;
};
inline constexpr std::chrono::milliseconds kMinKeyedWindow{1};
inline constexpr std::chrono::hours kMaxKeyedWindow{24 * 31};
inline constexpr uint32_t kMostKeyedRequests = 1'000'000'000;
inline constexpr uint32_t kMostKeyedWaiting = 1'000'000;
// Returns an error if a limit is out of range; the error names the limit and the range.
Status CheckKeyedLimits(const KeyedLimits& limits);

// The shortest window that processes can share. A process leases grants over the network, and the answer has to come
// within the window.
inline constexpr std::chrono::milliseconds kMinSharedWindow{100};
// Returns true for a fixed window that is long enough. Each process counts all other windows by itself.
inline bool CanBeShared(const KeyedLimits& limits) {
  return limits.kind == WindowKind::kFixed && limits.window >= kMinSharedWindow;
}

// The rules never change after their construction, so any thread may use them.
class KeyedRules {
 public:
  struct Rule {
    std::string key;  // the whole key, or a regular expression (RE2) that matches the whole key
    bool is_pattern = false;
    KeyedLimits limits;
  };

  // Makes rules in which every key has the limits `others`.
  explicit KeyedRules(const KeyedLimits& others = {});
  ~KeyedRules();
  // Makes rules from a list. A rule for exactly the key takes precedence over patterns, and an earlier pattern over a
  // later one. A key for which there is no rule has the limits `others`. Returns an error if a limit is out of range,
  // if a pattern is not a valid regular expression, if a key has two exact rules, or if a pattern is there twice.
  static Result<std::shared_ptr<const KeyedRules>> Make(const KeyedLimits& others, std::vector<Rule> rules);

  // Returns the limits of the key. The reference is valid as long as these rules exist.
  const KeyedLimits& Of(std::string_view key) const;

 private:
  struct Pattern;

  KeyedLimits others_;
  std::vector<Rule> exact_;  // sorted by key
  std::vector<Pattern> patterns_;
};

}  // namespace weir
