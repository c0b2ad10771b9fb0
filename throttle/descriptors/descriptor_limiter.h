// DescriptorLimiter: decides whether a request may go on, by the descriptors of the request and the limits that rules
// give them. A descriptor is a list of keys with values, such as to_number=123; the rules are in descriptor_rules.h. A
// request brings hits, usually one, which are charged to its descriptors.
//
//   DescriptorLimiter limiter({.rules = rules});
//   limiter.Ask({.domain = "messaging", .descriptors = descriptors}, [](DescriptorAnswer answer) { … });
//
// Every descriptor that has a limit is charged, even if another one is over its limit. A request is over if one of its
// descriptors is over its limit. For this, descriptors in shadow mode do not count, and descriptors in quota mode count
// only if all of them are over. Hits beyond the limit are charged too, so a descriptor with 0 hits shows whether its
// limit is exceeded. Windows follow each other at fixed times (limit_unit.h), so up to twice the limit may pass in a
// stretch across the edge between two windows.
//
// No choice of values defeats a limit. A descriptor whose name (kMostNameBytes) is too long is counted by a digest. If
// the values need more memory than there is room for, some are counted together (descriptor_shard.h), and each of these
// is refused at its limit or sooner. If a request with several descriptors is over because of earlier charges, its
// values that are new in their windows are not charged, so they take no memory.
//
// Threads: every function may be called from any thread, and none blocks. Names are spread over shards, and one thread
// at a time works on a shard: if the shard is busy, a call leaves its work to the thread that is there
// (by_name/turn.h). So the answer comes before Ask returns, or a moment later in another thread.
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
  bool shadow = false;  // only counts: a request that is over gets kOk
  // Room for names. Each name takes its own bytes and about 110 more until its window has ended.
  size_t max_bytes = size_t{256} << 20;
  size_t shards = 25;
  // Called when hits were charged to a value that is counted together with others, because there is no room for its
  // name. `rule` is the path of the value's rule, or DescriptorRules::kOverrides. Runs in the thread that works on the
  // shard, so it must be quick, and it must not throw.
  std::function<void(std::string_view domain, std::string_view rule)> on_crowded{};
};
// The most descriptors of a request; a request with more is invalid. A client cannot add descriptors by its values: the
// program that asks decides how many there are.
inline constexpr size_t kMostDescriptors = 256;
// The most bytes of a name, which is made of the unit, the domain and the entries of a descriptor. A longer name is
// counted by its digest.
inline constexpr size_t kMostNameBytes = 256;

// The texts in the next two structs need to be valid only while Ask runs.
struct AskedDescriptor {
  std::span<const DescriptorEntry> entries;
  std::optional<UnitLimit> limit{};  // replaces the limit of the rules, if they have the domain
  std::optional<uint64_t> hits{};    // replaces the hits of the request; 0: charges nothing and only asks
};

struct DescriptorRequest {
  std::string_view domain;
  std::span<const AskedDescriptor> descriptors;
  uint32_t hits = 1;  // 0 counts as 1
};

// The state of one descriptor after the charge. A descriptor that has no limit, or whose limit another one replaces,
// keeps the values below.
struct DescriptorStatus {
  bool over = false;                 // more hits than the limit in this window; never if the rule is in shadow mode
  bool unlimited = false;            // its rule says that it is not limited
  bool quota_mode = false;           // it refuses the request only if all descriptors in quota mode are over
  std::optional<UnitLimit> limit{};  // nullopt: it is not limited
  std::string_view limit_name;       // the name of the limit; valid as long as DescriptorAnswer::rules
  uint32_t remaining = 0;            // hits that are left in this window
  Duration until_reset{};            // until the end of this window
};

struct DescriptorAnswer {
  enum class Code : uint8_t {
    kOk,
    kOverLimit,
    kInvalid,  // no domain, no descriptor or more than kMostDescriptors; `reason` says which; nothing was charged
  };
  Code code = Code::kOk;
  std::string reason;                            // empty unless the code is kInvalid
  std::vector<DescriptorStatus> statuses;        // one for each descriptor; none if the code is kInvalid
  std::shared_ptr<const DescriptorRules> rules;  // the rules that were applied
};

inline constexpr size_t kDescriptorCodes = 3;

// Counts since the limiter was made, unless a comment says otherwise.
struct DescriptorCounts {
  std::array<uint64_t, kDescriptorCodes> answers{};  // requests, by DescriptorAnswer::Code
  uint64_t unknown_domain = 0;                       // descriptors of a domain that the rules do not have
  uint64_t without_limit = 0;                        // descriptors of a known domain that have no limit
  uint64_t let_pass = 0;                             // requests that were over, but passed because of `shadow`
  uint64_t names = 0;                                // names that are held now
  uint64_t bytes = 0;                                // the memory that these names take now
  uint64_t gave_way = 0;                             // names that were dropped because other names needed their room
};

class DescriptorLimiter {
 public:
  // Called once, in the thread that charged the last descriptor. It must be quick, and must not throw or destroy the
  // limiter.
  using Done = std::function<void(DescriptorAnswer answer)>;

  // Uses the system's clocks, and starts a thread that calls Tick.
  explicit DescriptorLimiter(DescriptorConfig config);
  // Starts no thread: the caller has to call Tick. The clocks must outlive the limiter.
  DescriptorLimiter(DescriptorConfig config, const WallClock& wall_clock, const Clock& clock);
  ~DescriptorLimiter();

  // Charges the descriptors of the request and calls `done` with the answer.
  void Ask(const DescriptorRequest& request, Done done);

  // Replaces the rules for requests that come from now on. Hits that were charged go on counting.
  void SetRules(std::shared_ptr<const DescriptorRules> rules) {
    const std::lock_guard lock(rules_mutex_);
    rules_.swap(rules);
  }
  std::shared_ptr<const DescriptorRules> rules() const {
    const std::lock_guard lock(rules_mutex_);
    return rules_;
  }

  // Looks through some of the names and forgets those whose windows have ended. Returns when Tick has to be called
  // again.
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
  // Not a std::atomic<std::shared_ptr>, because the one of g++ 12 has a data race.
  mutable std::mutex rules_mutex_;
  std::shared_ptr<const DescriptorRules> rules_;
  std::unique_ptr<Shards<DescriptorShard>> shards_;  // last, so that it is destroyed before the members that it uses
};

}  // namespace weir
