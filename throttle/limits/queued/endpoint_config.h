// EndpointConfig: how fast an endpoint of a QueuedLimiter serves requests, and how requests wait. QueuedRules: which
// path has which configuration.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/status.h"
#include "config/text/name_hash.h"

namespace weir {

struct EndpointConfig {
  enum class Unit : uint8_t { kPerSecond, kPerMinute };
  // Decides which waiting request is served next: the oldest, the newest, one of the highest priority, or a random one.
  enum class Scheduler : uint8_t { kFifo, kLifo, kPriority, kRandom };
  enum class Algorithm : uint8_t {
    kStrict,         // one request after the other, at even intervals
    kTokenBucket,    // requests at even intervals, and after a pause up to burst_size requests at once
    kSlidingWindow,  // at most most_in_window requests in any period as long as the window (by_name/window_kind.h)
    kTokenWindow,    // in each window, requests that together cost at most tokens_per_window tokens
  };
  enum class Overflow : uint8_t {
    kReject,  // the endpoint refuses a request that finds the queue full
    kBlock,   // a request that finds the queue full waits outside; these requests enter the queue as they came
  };
  // The names of the values of these enums in the configuration, in the order of the values.
  static constexpr std::array<std::string_view, 2> kUnits = {"rps", "rpm"};
  static constexpr std::array<std::string_view, 4> kSchedulers = {"fifo", "lifo", "priority", "random"};
  static constexpr std::array<std::string_view, 4> kAlgorithms = {"strict", "token_bucket", "sliding_window",
                                                                  "token_window"};
  static constexpr std::array<std::string_view, 2> kOverflows = {"reject", "block"};

  // Returns the rate in requests per second; 0 for kTokenWindow.
  double per_second() const { return unit == Unit::kPerSecond ? rate : rate / 60; }

  // A number that the algorithm does not need is 0.
  double rate = 0;  // requests in each unit of time
  Unit unit = Unit::kPerSecond;
  Scheduler scheduler = Scheduler::kFifo;
  Algorithm algorithm = Algorithm::kStrict;
  uint32_t max_queue_size = 500;  // requests; 0: no request waits, neither in the queue nor outside
  Overflow overflow = Overflow::kReject;
  uint32_t burst_size = 0;
  std::chrono::milliseconds window{0};
  // The time-out: a request is refused if its predicted wait is longer. 0: no time-out. With kLifo and kRandom, no wait
  // is predicted.
  std::chrono::milliseconds queue_timeout{0};
  uint32_t tokens_per_window = 0;
  uint32_t default_tokens = 0;  // the cost of a request that states no tokens, or 0 tokens
  uint32_t most_in_window = 0;  // requests, for kSlidingWindow: the rate times the window, rounded down
};

// The configuration of one path, as it is written. A value that is not set comes from the nearest configured path above
// that sets it. If there is none, a default applies: unit rps, scheduler fifo, algorithm strict, max_queue_size 500,
// overflow reject, no queue_timeout, default_tokens 1; burst_size is the number of requests that the rate allows in a
// second; window is the unit, or a minute with token_window. tokens_per_window has no default with token_window, and
// rate has none with the other algorithms.
struct EndpointRule {
  std::string path;
  std::optional<double> rate;
  std::optional<EndpointConfig::Unit> unit;
  std::optional<EndpointConfig::Scheduler> scheduler;
  std::optional<EndpointConfig::Algorithm> algorithm;
  std::optional<uint32_t> max_queue_size;
  std::optional<EndpointConfig::Overflow> overflow;
  std::optional<uint32_t> burst_size;
  std::optional<std::chrono::milliseconds> window;
  std::optional<std::chrono::milliseconds> queue_timeout;
  std::optional<uint32_t> tokens_per_window;
  std::optional<uint32_t> default_tokens;
};

inline constexpr size_t kMostPathBytes = 512;
inline constexpr double kLeastEndpointRate = 0.001;
inline constexpr double kMostEndpointRate = 1e9;
inline constexpr uint32_t kMostQueueSize = 1'000'000;
inline constexpr uint32_t kMostBurstSize = 1'000'000;
inline constexpr uint32_t kMostWindowTokens = 1'000'000'000;
inline constexpr std::chrono::milliseconds kMinEndpointWindow{1};
inline constexpr std::chrono::hours kMaxEndpointTime{24 * 31};  // the longest window, time-out and refill of a burst

// Returns the path without slashes at its end: "/api" for "/api/". "/" stays as it is.
std::string_view CanonicalPath(std::string_view path);
// Returns an error if the path cannot be that of a rule.
Status CheckEndpointPath(std::string_view path);

// The rules never change after their construction, so any thread may use them.
class QueuedRules {
 public:
  static constexpr size_t kUsualDynamic = 1000;
  using Configs = std::unordered_map<std::string, std::shared_ptr<const EndpointConfig>, HashName, SameName>;

  // Makes the rules. If a rule is wrong, returns an error that names the path and what is wrong, for a number with the
  // allowed range; *wrong_path, if it is not null, gets the canonical path of that rule. `max_dynamic` is the most
  // dynamic endpoints (queued_limiter.h). A value that is set in `defaults` replaces the default that is described at
  // EndpointRule.
  static Result<std::shared_ptr<const QueuedRules>> Make(std::vector<EndpointRule> rules,
                                                         size_t max_dynamic = kUsualDynamic, EndpointRule defaults = {},
                                                         std::string* wrong_path = nullptr);

  const Configs& configs() const { return configs_; }
  size_t max_dynamic() const { return max_dynamic_; }
  // Returns the nearest configured path, with its configuration: `path` itself, or else the nearest path above it.
  // Returns null if there is none.
  const Configs::value_type* Nearest(std::string_view path) const;

 private:
  Configs configs_;
  size_t max_dynamic_ = kUsualDynamic;
  size_t longest_ = 0;  // the number of bytes of the longest configured path
};

}  // namespace weir
