// DescriptorLimiter: decides whether a request may proceed, by its descriptors. A descriptor is a list of keys with
// values, such as to_number=123. Rules (descriptor_rules.h) say which limit a descriptor has. A request has a number of
// hits, usually one; the limiter adds these hits to the count of each descriptor of the request.
//
//   DescriptorLimiter limiter({.rules = rules});
//   limiter.Ask({.domain = "messaging", .descriptors = descriptors}, [](DescriptorAnswer answer) { … });
//
// A request exceeds its limits if the count of one of its descriptors exceeds the limit of this descriptor. Two modes
// of a rule change that: descriptors in shadow mode are ignored here, and descriptors in quota mode matter only if all
// of them exceed their limits. The limiter counts hits beyond a limit too, so a descriptor with 0 hits shows whether
// its limit is exceeded. Windows follow each other at fixed times (limit_unit.h), so a period across the boundary of
// two windows may see up to twice the limit.
//
// A client cannot evade a limit by its choice of values. A descriptor is counted under a name, which is made of its
// unit, its domain, its keys and its values; a name that is too long (kMostNameBytes) is replaced by a digest. If there
// is no memory for another name, some names share a count (descriptor_shard.h), so that the limiter may refuse them
// before they reach the limit, but not later. If the names that already have a count suffice to refuse a request with
// several descriptors, the limiter does not count the other names of this request, so these take no memory.
//
// Threads: any thread may call any function, and none blocks, except the destructor. Names are spread over shards, and
// one thread at a time works on a shard: if a shard is busy, a call queues its work for the thread that works there
// (by_name/turn.h). So the limiter calls the callback before Ask returns, or a moment later in another thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "throttle/limits/descriptors/descriptor_rules.h"

namespace weir {

class DescriptorShard;
template <typename Shard>
class Shards;

struct DescriptorConfig {
  std::shared_ptr<const DescriptorRules> rules = std::make_shared<DescriptorRules>();
  bool shadow = false;  // only counts: a request that exceeds its limits gets kOk
  // The most memory for names, in bytes. Each name takes its own length and about 110 bytes more until some time after
  // its window has ended.
  size_t max_bytes = size_t{256} << 20;
  size_t shards = 25;
  // Called when hits are charged to a name that was not in memory, and its count includes hits of other names, because
  // there is no room for all names. `rule` is the path of the name's rule, or DescriptorRules::kOverrides. Runs in the
  // thread that works on the shard, so it must be quick, and it must not throw.
  std::function<void(std::string_view domain, std::string_view rule)> on_crowded{};
};
// The most descriptors of a request; the answer to a request with more is kInvalid. The calling program decides how
// many descriptors it sends; its clients choose only the values.
inline constexpr size_t kMostDescriptors = 256;
// The most bytes of a name, which is made of the unit, the domain and the entries of a descriptor. A longer name is
// replaced by its digest (SHA-256).
inline constexpr size_t kMostNameBytes = 256;

// The caller must keep the texts in the next two structs valid until Ask returns.
struct AskedDescriptor {
  std::span<const DescriptorEntry> entries;
  std::optional<UnitLimit> limit{};  // used instead of the limit of the rules; ignored if the domain is unknown
  std::optional<uint64_t> hits{};    // used instead of DescriptorRequest::hits; 0: adds nothing, only reads the count
};

struct DescriptorRequest {
  std::string_view domain;
  std::span<const AskedDescriptor> descriptors;
  uint32_t hits = 1;  // 0 counts as 1
};

// The state of one descriptor after its hits were counted. If the descriptor has no limit, or the limit of another
// descriptor replaces its limit (WrittenLimit::replaces), all fields except `unlimited` have their default values.
struct DescriptorStatus {
  bool over = false;                 // the count in this window exceeds the limit; never true in shadow mode
  bool unlimited = false;            // the rule of the descriptor says that it has no limit
  bool quota_mode = false;           // refuses the request only if all descriptors in quota mode exceed their limits
  std::optional<UnitLimit> limit{};  // nullopt: the descriptor has no limit
  std::string_view limit_name;       // the name of the limit; valid as long as DescriptorAnswer::rules
  uint32_t remaining = 0;            // hits that are left in this window
  Duration until_reset{};            // the time until this window ends
};

struct DescriptorAnswer {
  enum class Code : uint8_t {
    kOk,
    kOverLimit,
    kInvalid,  // no domain, no descriptor or more than kMostDescriptors; `reason` says which; nothing was counted
  };
  Code code = Code::kOk;
  std::string reason;                            // empty unless the code is kInvalid
  std::vector<DescriptorStatus> statuses;        // one for each descriptor; empty if the code is kInvalid
  std::shared_ptr<const DescriptorRules> rules;  // the rules by which the limiter decided
};

inline constexpr size_t kDescriptorCodes = 3;

// Counts since the limiter was made, unless a comment says otherwise.
struct DescriptorCounts {
  std::array<uint64_t, kDescriptorCodes> answers{};  // requests, by DescriptorAnswer::Code
  uint64_t unknown_domain = 0;                       // descriptors whose domain is not in the rules
  uint64_t without_limit = 0;                        // descriptors of a known domain for which no rule states a limit
  uint64_t let_pass = 0;                             // requests that exceeded their limits, but passed due to `shadow`
  uint64_t names = 0;                                // names that are in memory now
  uint64_t bytes = 0;                                // the memory that these names and their rules take now
  uint64_t gave_way = 0;                             // names that were removed to make room for other names
};

class DescriptorLimiter {
 public:
  // Receives the answer. The limiter calls it once, in the thread that counted the last descriptor, or in the thread
  // that called Ask if none had to be counted. It must be quick, and must not throw or destroy the limiter.
  using Done = std::function<void(DescriptorAnswer answer)>;

  // Uses the system's clocks, and starts a thread that calls Tick.
  explicit DescriptorLimiter(DescriptorConfig config);
  // Starts no thread: the caller has to call Tick. The clocks must outlive the limiter.
  DescriptorLimiter(DescriptorConfig config, const WallClock& wall_clock, const Clock& clock);
  ~DescriptorLimiter();

  // Adds the hits of the request to the counts of its descriptors, and calls `done` with the answer.
  void Ask(const DescriptorRequest& request, Done done);

  // Replaces the rules for all later requests. Hits that were counted before stay counted.
  void SetRules(std::shared_ptr<const DescriptorRules> rules) {
    const MutexLock lock(rules_mutex_);
    rules_.swap(rules);
  }
  std::shared_ptr<const DescriptorRules> rules() const {
    const MutexLock lock(rules_mutex_);
    return rules_;
  }

  // Removes some of the names whose windows have ended. Returns the time at which the caller has to call Tick again.
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
  // A std::atomic<std::shared_ptr> would need no mutex, but the one of g++ 12 has a data race.
  mutable Mutex rules_mutex_;
  std::shared_ptr<const DescriptorRules> rules_ WEIR_GUARDED_BY(rules_mutex_);
  std::unique_ptr<Shards<DescriptorShard>> shards_;  // last, so that it is destroyed before the members that it uses
};

}  // namespace weir
