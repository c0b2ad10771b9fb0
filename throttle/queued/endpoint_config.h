// EndpointConfig: how fast an endpoint of a QueuedLimiter lets requests through, and how they wait. QueuedRules: which
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
  // The request that leaves the queue next: the oldest, the newest, the one of the highest priority, or a random one.
  enum class Scheduler : uint8_t { kFifo, kLifo, kPriority, kRandom };
  enum class Algorithm : uint8_t {
    kStrict,         // one request after the other, at even intervals
    kTokenBucket,    // requests at the rate, and after a pause up to burst_size of them at once
    kSlidingWindow,  // never more than the rate allows in any window; a place becomes free up to a 32nd of it late
    kTokenWindow,    // requests with up to tokens_per_window tokens together in each window
  };
  enum class Overflow : uint8_t {
    kReject,  // a request that finds the queue full is refused
    kBlock,   // a request that finds the queue full waits before it; such requests enter it in the order of arrival
  };
  // How the configuration spells the values of these enums, in their order.
  static constexpr std::array<std::string_view, 2> kUnits = {"rps", "rpm"};
  static constexpr std::array<std::string_view, 4> kSchedulers = {"fifo", "lifo", "priority", "random"};
  static constexpr std::array<std::string_view, 4> kAlgorithms = {"strict", "token_bucket", "sliding_window",
                                                                  "token_window"};
  static constexpr std::array<std::string_view, 2> kOverflows = {"reject", "block"};

  // Returns the rate in requests per second; 0 for kTokenWindow.
  double per_second() const { return unit == Unit::kPerSecond ? rate : rate / 60; }

  // Numbers that the algorithm does not need are 0.
  double rate = 0;  // requests in each unit of time
  Unit unit = Unit::kPerSecond;
  Scheduler scheduler = Scheduler::kFifo;
  Algorithm algorithm = Algorithm::kStrict;
  uint32_t max_queue_size = 500;  // requests; 0: no request waits, not even before the queue
  Overflow overflow = Overflow::kReject;
  uint32_t burst_size = 0;
  std::chrono::milliseconds window{0};
  // A request is refused if its predicted wait is longer than this. 0: no bound. With kLifo and kRandom no wait is
  // predicted.
  std::chrono::milliseconds queue_timeout{0};
  uint32_t tokens_per_window = 0;
  uint32_t default_tokens = 0;  // the cost of a request that brings no tokens, or 0
  uint32_t most_in_window = 0;  // requests, for kSlidingWindow; follows from rate and window
};

// The configuration of one path as it is written. A value that is not set comes from the nearest configured path above
// that sets it, or else from the defaults: unit rps, scheduler fifo, algorithm strict, max_queue_size 500, overflow
// reject, no queue_timeout, 1 as default_tokens. The default of burst_size is the number of requests that the rate
// allows in a second; that of window is the unit, or a minute for token_window. There is no default for
// tokens_per_window with token_window, nor for rate without it.
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
inline constexpr std::chrono::hours kMaxEndpointTime{24 * 31};  // for a window, a time-out, and the refill of a burst

// Returns the path without slashes at its end: "/api" for "/api/". "/" stays as it is.
std::string_view CanonicalPath(std::string_view path);

// The rules do not change after they are made, so any thread may use them.
class QueuedRules {
 public:
  static constexpr size_t kUsualDynamic = 1000;
  using Configs = std::unordered_map<std::string, std::shared_ptr<const EndpointConfig>, HashName, SameName>;

  // Returns the rules, or an error that says what is wrong, with which path, and what is allowed. `max_dynamic` is the
  // most endpoints that the limiter makes for paths that are not configured. Values that `defaults` sets replace the
  // defaults above.
  static Result<std::shared_ptr<const QueuedRules>> Make(std::vector<EndpointRule> rules,
                                                         size_t max_dynamic = kUsualDynamic,
                                                         EndpointRule defaults = {});

  const Configs& configs() const { return configs_; }
  size_t max_dynamic() const { return max_dynamic_; }
  // Returns the configured path that is nearest, which is `path` itself or a path above it, with its configuration;
  // null if there is none.
  const Configs::value_type* Nearest(std::string_view path) const;

 private:
  Configs configs_;
  size_t max_dynamic_ = kUsualDynamic;
  size_t longest_ = 0;  // bytes of the longest configured path
};

}  // namespace weir
