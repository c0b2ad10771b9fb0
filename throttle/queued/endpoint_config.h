// EndpointConfig: how fast an endpoint lets requests through, and how they wait. QueuedRules: which path has which
// configuration.
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
  enum class Scheduler : uint8_t { kFifo, kLifo, kPriority, kRandom };
  enum class Algorithm : uint8_t {
    kStrict,         // one after the other, at even distances
    kTokenBucket,    // at the rate; after a pause a burst
    kSlidingWindow,  // never more than the rate allows in any window; a place comes free up to a 32nd of it late
    kTokenWindow,    // at most tokens_per_window tokens in each window
  };
  enum class Overflow : uint8_t {
    kReject,  // a request that finds the queue full is refused
    kBlock,   // such requests wait before it, in the order in which they came
  };
  // The names in which they are written, in the order of the values.
  static constexpr std::array<std::string_view, 2> kUnits = {"rps", "rpm"};
  static constexpr std::array<std::string_view, 4> kSchedulers = {"fifo", "lifo", "priority", "random"};
  static constexpr std::array<std::string_view, 4> kAlgorithms = {"strict", "token_bucket", "sliding_window",
                                                                  "token_window"};
  static constexpr std::array<std::string_view, 2> kOverflows = {"reject", "block"};

  double per_second() const { return unit == Unit::kPerSecond ? rate : rate / 60; }

  // Numbers that the algorithm does not need are 0.
  double rate = 0;  // requests in a unit
  Unit unit = Unit::kPerSecond;
  Scheduler scheduler = Scheduler::kFifo;
  Algorithm algorithm = Algorithm::kStrict;
  uint32_t max_queue_size = 500;  // 0: no request waits, not even before the queue
  Overflow overflow = Overflow::kReject;
  uint32_t burst_size = 0;
  std::chrono::milliseconds window{0};
  std::chrono::milliseconds queue_timeout{0};  // a longer predicted wait is refused at once; 0: none is
  uint32_t tokens_per_window = 0;
  uint32_t default_tokens = 0;  // for a request that names none, or 0
  uint32_t most_in_window = 0;  // requests, for sliding_window; follows from the others
};

// The written part of an endpoint's configuration. The rest comes from the nearest ancestor, then from the defaults:
// fifo, strict, rps, a queue of 500, reject, no time-out; as burst what the rate lets through in a second; as window
// the unit of the rate, or a minute for token_window; 1 token.
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
inline constexpr std::chrono::hours kMaxEndpointTime{24 * 31};  // for a window, a time-out, filling a bucket

// Returns the path without slashes at its end: "/api" for "/api/".
std::string_view CanonicalPath(std::string_view path);

// Threads: any, once it is made.
class QueuedRules {
 public:
  static constexpr size_t kUsualDynamic = 1000;
  using Configs = std::unordered_map<std::string, std::shared_ptr<const EndpointConfig>, HashName, SameName>;

  // The error says what is wrong, with which path, and what is allowed. `defaults` hold for what no ancestor sets.
  static Result<std::shared_ptr<const QueuedRules>> Make(std::vector<EndpointRule> rules,
                                                         size_t max_dynamic = kUsualDynamic,
                                                         EndpointRule defaults = {});

  const Configs& configs() const { return configs_; }
  size_t max_dynamic() const { return max_dynamic_; }
  // Returns the configuration of the path itself, or of the nearest path that it lies below; null if there is none.
  const Configs::value_type* Nearest(std::string_view path) const;

 private:
  Configs configs_;
  size_t max_dynamic_ = kUsualDynamic;
  size_t longest_ = 0;  // bytes of the longest configured path
};

}  // namespace weir
