// DescriptorLimiter: decides whether a request may go, by all the descriptors that describe it.
//
//   DescriptorLimiter limiter({.rules = rules});
//   limiter.Ask({.domain = "messaging", .descriptors = descriptors}, [](DescriptorAnswer answer) { … });
//
// Each descriptor that has a limit is charged, even if another is over; the request is over if one of them is. Hits
// over the limit are charged too, so a check with 0 hits tells of them. Windows are those of LimitUnit: up to twice the
// limit passes across the edge of two.
//
// No value makes a limit fail. A long one is counted by its digest. If more values are charged than there is room for,
// some count together (descriptor_shard.h): each is refused at its limit, or sooner. A request that is over because of
// earlier charges makes no new names; those that would be new are not charged.
//
// Threads: any, for every function. Names are spread over shards; a shard is touched by one thread at a time, without a
// lock (Turn). So the answer comes before Ask returns, or a moment later from the thread that is at the shard. No
// thread waits for another.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "throttle/descriptors/descriptor_rules.h"

namespace weir {

class DescriptorShard;
template <typename Shard>
class Shards;

struct DescriptorConfig {
  std::shared_ptr<const DescriptorRules> rules = std::make_shared<DescriptorRules>();
  bool shadow = false;  // counts, and refuses no request
  // Room for names; each takes its own bytes and about 110 until its window ends.
  size_t max_bytes = size_t{256} << 20;
  size_t shards = 25;
  // Called when a value of this rule was charged that counts together with others. Must be quick, and must not throw.
  std::function<void(std::string_view domain, std::string_view rule)> on_crowded{};
};
// The most descriptors of a request. No value can make more: the program that asks decides how many there are.
inline constexpr size_t kMostDescriptors = 256;
// The most bytes of a name; a longer one is counted by its digest.
inline constexpr size_t kMostNameBytes = 256;

struct AskedDescriptor {
  std::span<const DescriptorEntry> entries;
  std::optional<UnitLimit> limit{};  // replaces that of the rules, in a domain that they know
  std::optional<uint64_t> hits{};    // replaces the request's; 0 asks, and charges nothing
};

struct DescriptorRequest {
  std::string_view domain;
  std::span<const AskedDescriptor> descriptors;
  uint32_t hits = 1;  // 0 counts as 1
};

struct DescriptorStatus {
  bool over = false;
  bool unlimited = false;
  bool quota_mode = false;           // true: it refuses nothing by itself
  std::optional<UnitLimit> limit{};  // nullopt: it has none
  std::string_view limit_name;       // valid while the answer's rules live
  uint32_t remaining = 0;
  Duration until_reset{};
};

struct DescriptorAnswer {
  enum class Code : uint8_t {
    kOk,
    kOverLimit,
    kInvalid,  // `reason` says why; nothing was charged
  };
  Code code = Code::kOk;
  std::string reason;
  std::vector<DescriptorStatus> statuses;  // one for each descriptor, unless the code is kInvalid
  std::shared_ptr<const DescriptorRules> rules;
};

inline constexpr size_t kDescriptorCodes = 3;

struct DescriptorCounts {
  std::array<uint64_t, kDescriptorCodes> answers{};  // requests, by code
  uint64_t unknown_domain = 0;                       // descriptors
  uint64_t without_limit = 0;                        // descriptors of a known domain
  uint64_t let_pass = 0;                             // requests that were over, under `shadow`
  uint64_t names = 0;                                // now
  uint64_t bytes = 0;                                // now
  uint64_t gave_way = 0;                             // names that gave way to others
};

class DescriptorLimiter {
 public:
  // Called once, from the thread that was at the last shard: must be quick, and must not throw.
  using Done = std::function<void(DescriptorAnswer answer)>;

  // Uses the machine's clocks, and a thread that calls Tick.
  explicit DescriptorLimiter(DescriptorConfig config);
  // The owner calls Tick. The clocks must outlive the limiter.
  DescriptorLimiter(DescriptorConfig config, const WallClock& wall_clock, const Clock& clock);
  ~DescriptorLimiter();

  void Ask(const DescriptorRequest& request, Done done);

  // Replaces the rules. Hits that were charged go on counting.
  void SetRules(std::shared_ptr<const DescriptorRules> rules) {
    const std::lock_guard lock(rules_mutex_);
    rules_.swap(rules);
  }
  std::shared_ptr<const DescriptorRules> rules() const {
    const std::lock_guard lock(rules_mutex_);
    return rules_;
  }

  // Forgets names whose windows have ended, a part of them each time. Returns when it wants to be called again.
  TimePoint Tick();

  DescriptorCounts Counts() const;

 private:
  class Call;
  struct Counters {
    std::array<std::atomic<uint64_t>, kDescriptorCodes> answers{};
    std::atomic<uint64_t> unknown_domain{0}, without_limit{0}, let_pass{0};
  };

  const bool shadow_;
  const std::function<void(std::string_view domain, std::string_view rule)> on_crowded_;
  Counters counters_;
  // Not std::atomic<std::shared_ptr>: that of g++ 12 has a race.
  mutable std::mutex rules_mutex_;
  std::shared_ptr<const DescriptorRules> rules_;
  std::unique_ptr<Shards<DescriptorShard>> shards_;  // ends first
};

}  // namespace weir
