#include "throttle/limits/keyed/keyed_limits.h"

#include <re2/re2.h>

#include <algorithm>
#include <set>
#include <utility>

namespace weir {

struct KeyedRules::Pattern {
  std::unique_ptr<re2::RE2> expression;
  KeyedLimits limits;
};

namespace {

// The most memory for the compiled pattern. Patterns come from the configuration, and a megabyte is enough for them.
constexpr int64_t kMostPatternBytes = int64_t{1} << 20;

}  // namespace

Status CheckKeyedLimits(const KeyedLimits& limits) {
  const auto refuse = [](std::string_view what, auto value, auto least, auto most) {
    return Status::Error(std::string(what) + " is " + std::to_string(value) + "; it is " + std::to_string(least) +
                         " to " + std::to_string(most));
  };
  const std::chrono::milliseconds window = limits.window, longest = kMaxKeyedWindow;
  if (window < kMinKeyedWindow || window > longest)
    return refuse("the window in milliseconds", window.count(), kMinKeyedWindow.count(), longest.count());
  if (limits.max_requests > kMostKeyedRequests)
    return refuse("the number of requests in a window", limits.max_requests, 0, kMostKeyedRequests);
  if (limits.max_waiting > kMostKeyedWaiting)
    return refuse("the number of requests that may wait", limits.max_waiting, 0, kMostKeyedWaiting);
  return {};
}

KeyedRules::KeyedRules(const KeyedLimits& others) : others_(others) {}
KeyedRules::~KeyedRules() = default;

Result<std::shared_ptr<const KeyedRules>> KeyedRules::Make(const KeyedLimits& others, std::vector<Rule> rules) {
  if (Status status = CheckKeyedLimits(others); !status.ok()) return status;
  auto made = std::make_shared<KeyedRules>(others);
  std::set<std::string_view> patterns;
  for (Rule& rule : rules) {
    if (const Status status = CheckKeyedLimits(rule.limits); !status.ok())
      return Status::Error("key '" + rule.key + "': " + status.message());
    if (!rule.is_pattern) {
      made->exact_.push_back(std::move(rule));
      continue;
    }
    // The second of two equal patterns would never apply.
    if (!patterns.insert(rule.key).second) return Status::Error("pattern '" + rule.key + "' is there twice");
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kMostPatternBytes);
    auto expression = std::make_unique<re2::RE2>(rule.key, options);
    if (!expression->ok()) return Status::Error("pattern '" + rule.key + "': " + expression->error());
    made->patterns_.push_back({std::move(expression), rule.limits});
  }
  std::ranges::stable_sort(made->exact_, {}, &Rule::key);
  const auto twice = std::ranges::adjacent_find(made->exact_, {}, &Rule::key);
  if (twice != made->exact_.end()) return Status::Error("key '" + twice->key + "' is there twice");
  return std::shared_ptr<const KeyedRules>(std::move(made));
}

const KeyedLimits& KeyedRules::Of(std::string_view key) const {
  const auto exact = std::ranges::lower_bound(exact_, key, {}, &Rule::key);
  if (exact != exact_.end() && exact->key == key) return exact->limits;
  for (const Pattern& pattern : patterns_)
    if (re2::RE2::FullMatch(re2::StringPiece(key.data(), key.size()), *pattern.expression)) return pattern.limits;
  return others_;
}

}  // namespace weir
