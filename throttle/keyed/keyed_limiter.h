// KeyedLimiter: a window of requests for each key that somebody names.
//
//   KeyedLimiter limiter({.rules = rules});
//   limiter.Take({.key = "user-123", .may_wait = true}, caller);   // caller->OnAnswer: granted, or not, and why
//   limiter.GiveBack("user-123", answer.grant, done);              // that very grant, once
//
// In a window the first max_requests pass. The others wait in line where they may, and are granted when the window has
// room again; else they are refused. A key is made when it is first named, and forgotten after three windows in which
// nobody named it.
//
// With SharedWindows the windows are those of several processes together; the waiting is each one's own. A request for
// which this process holds no grant stands in line until some are leased, also one that may not wait: it is answered
// then, and counts as waiting meanwhile. Who comes first is granted first, within a process.
//
// Threads: any, for every function. Keys are spread over shards; a shard is touched by one thread at a time, without a
// lock (Turn). So an answer comes before the call returns, or a moment later from the thread that is at the shard, or,
// to those who wait, from the thread that calls Tick. Nobody waits for a thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/bound.h"
#include "config/clock.h"
#include "throttle/by_name/page.h"
#include "throttle/keyed/keyed_limits.h"
#include "throttle/keyed/name_room.h"
#include "throttle/keyed/shared_lease.h"
#include "throttle/keyed/shared_windows.h"

namespace weir {

class KeyedShard;
template <typename Shard>
class Shards;

struct KeyedConfig {
  std::shared_ptr<const KeyedRules> rules = std::make_shared<KeyedRules>();
  bool overrides = false;        // requests may bring limits of their own
  size_t max_keys = 1'000'000;   // of kUsualKeyBytes each: long names, sliding windows and grants given back take more
  size_t max_waiting = 100'000;  // of all keys
  size_t shards = 25;
  WhenAway when_away = WhenAway::kAlone;  // the SharedWindows
};
inline constexpr size_t kMostKeyBytes = 512;
inline constexpr size_t kUsualKeyBytes = 256;  // that a key holds, with a name of 80

enum class KeyedCode : uint8_t {
  kGranted,
  kNoRoom,      // the window is full, and it may not wait
  kLineFull,    // nor is there room to wait
  kInvalidKey,  // empty, or longer than kMostKeyBytes
  kOverridesOff,
  kTooManyKeys,     // no further key can be held, or none of this client's
  kTooManyWaiting,  // nobody else can wait, of any key
  kStoreAway,       // whoever counts the windows for all processes does not answer
  kClosed,
};

struct KeyedAnswer {
  KeyedCode code = KeyedCode::kGranted;
  uint64_t grant = 0;  // of kGranted: by it it is given back
  KeyedLimits limits;
  uint32_t used = 0;     // of limits.max_requests, this one included; of a shared window as far as is known
  uint32_t waiting = 0;  // in line for the key
  Duration waited{};
  // Until the first of what counts leaves the window.
  Duration until_room{};
};

// What it waits by; Leave takes it out.
using KeyedTicket = uint64_t;

// Called from whichever thread is at the key's shard: must be quick, and must not throw. It may call the limiter.
class KeyedCaller {
 public:
  virtual ~KeyedCaller() = default;
  // It stands in line; OnAnswer follows.
  virtual void OnWaiting(KeyedTicket /*ticket*/) {}
  // Once.
  virtual void OnAnswer(const KeyedAnswer& answer) = 0;
};

struct KeyedRequest {
  std::string_view key;
  bool may_wait = false;
  // A hash of who asks. Of the last quarter of the room for keys a client with many finds none (NameRoom).
  std::optional<uint64_t> client = std::nullopt;
  // Hold for the key from now on, until it is forgotten or another request brings others.
  std::optional<uint32_t> max_requests;
  std::optional<uint32_t> max_waiting;
};

struct KeyState {
  std::string key;
  KeyedLimits limits;
  uint32_t used = 0;
  uint32_t waiting = 0;
  uint64_t refused = 0;  // since it was made
  Duration until_room{};
  struct Lease {
    uint32_t left = 0;   // to be granted without asking
    uint32_t batch = 1;  // asked for at a time
    bool on_its_way = false;
    bool alone = false;  // counts by itself, for the windows are away
  };
  std::optional<Lease> lease;  // of one that is shared
};

struct KeyedCounts {
  uint64_t granted = 0;  // at once or after waiting
  uint64_t refused = 0;
  uint64_t waited = 0;  // stood in line, whatever came of it
  uint64_t left = 0;    // the line
  uint64_t given_back = 0;
  uint64_t keys = 0;     // now
  uint64_t waiting = 0;  // now
  // Of shared windows.
  uint64_t leases = 0;             // asked for
  uint64_t leases_unanswered = 0;  // of them
  uint64_t leased = 0;             // grants
  uint64_t unspent = 0;            // of them, which nobody can have any more
};

class KeyedLimiter {
 public:
  // On the machine's clock, with a thread that calls Tick.
  explicit KeyedLimiter(KeyedConfig config, std::unique_ptr<SharedWindows> shared = nullptr);
  // Whoever makes it calls Tick. The clock must outlive it.
  KeyedLimiter(KeyedConfig config, const Clock& clock, std::unique_ptr<SharedWindows> shared = nullptr);
  // Whoever waits then is answered kClosed.
  ~KeyedLimiter();

  void Take(const KeyedRequest& request, const std::shared_ptr<KeyedCaller>& caller);
  // True: it was a grant of this key's window that had not been given back.
  void GiveBack(std::string_view key, uint64_t grant, std::function<void(bool)> done);
  // Consumes nothing, and is not answered, unless it is no longer in line.
  void Leave(std::string_view key, KeyedTicket ticket);

  // Also of the keys that there are.
  void SetRules(std::shared_ptr<const KeyedRules> rules);
  // Whoever waits, and whoever comes, is answered kClosed.
  void Close();

  // Grants those for whom there is room now, and forgets keys, a part of them each time. When it wants to be called
  // again.
  TimePoint Tick();

  KeyedCounts Counts() const;
  // Nothing where nothing is shared.
  std::optional<SharedWindowsHealth> SharedHealth() const;
  // Of one key, or nothing where there is none.
  void Describe(std::string_view key, std::function<void(std::optional<KeyState>)> done);
  // Of some, from the place on.
  void DescribePage(PagePlace place, std::function<void(Page<KeyState>)> done);
  // Of up to `most` keys, some of each shard, in no order.
  void DescribeAll(size_t most, std::function<void(std::vector<KeyState>)> done);

 private:
  void Ask(uint64_t ask, const LeaseWish& wish);

  const bool overrides_;
  NameRoom keys_;
  Bound waiting_;
  std::unique_ptr<SharedWindows> shared_;
  std::unique_ptr<Shards<KeyedShard>> shards_;
};

}  // namespace weir
