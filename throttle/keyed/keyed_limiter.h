// KeyedLimiter: a window of requests for each key that callers name.
//
//   KeyedLimiter limiter({.rules = rules});
//   limiter.Take({.key = "user-123", .may_wait = true}, caller);   // caller->OnAnswer: granted, or not, and why
//   limiter.GiveBack("user-123", answer.grant, done);              // that very grant, once
//
// The first max_requests in a window pass. The others wait in line if they may, and are granted when the window has
// room again; else they are refused. A key is made when it is first named, and forgotten after three windows in which
// it was not named.
//
// With SharedWindows several processes share the windows, but each has its own lines. A request for which this process
// holds no grant stands in line until some are leased, even if it may not wait: it is answered then, and counts as
// waiting meanwhile. Within a process, requests are granted in the order in which they came.
//
// Threads: any, for every function. Keys are spread over shards; a shard is touched by one thread at a time, without a
// lock (Turn). So an answer comes before the call returns, or a moment later from the thread that is at the shard; a
// request in line may also be answered by the thread that calls Tick. No thread waits for another.
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
  size_t max_keys = 1'000'000;   // at kUsualKeyBytes each: long names, sliding windows and grants given back take more
  size_t max_waiting = 100'000;  // for all keys together
  size_t shards = 25;
  WhenAway when_away = WhenAway::kAlone;  // if the SharedWindows do not answer
};
inline constexpr size_t kMostKeyBytes = 512;
inline constexpr size_t kUsualKeyBytes = 256;  // held by a key with a name of 80 bytes

enum class KeyedCode : uint8_t {
  kGranted,
  kNoRoom,      // the window is full, and the request may not wait
  kLineFull,    // the window and the line are full
  kInvalidKey,  // empty, or longer than kMostKeyBytes
  kOverridesOff,
  kTooManyKeys,     // no further key can be held, or no further one of this client
  kTooManyWaiting,  // no further request can wait, for any key
  kStoreAway,       // the store of the SharedWindows does not answer
  kClosed,
};

struct KeyedAnswer {
  KeyedCode code = KeyedCode::kGranted;
  uint64_t grant = 0;  // if kGranted: the number by which it is given back
  KeyedLimits limits;
  uint32_t used = 0;     // grants that count, this one included; in a shared window as far as is known
  uint32_t waiting = 0;  // in line for the key
  Duration waited{};
  // Time until the first grant that counts leaves the window; if kStoreAway, until the store is asked again.
  Duration until_room{};
};

// Identifies a request in line, for Leave.
using KeyedTicket = uint64_t;

// Gets the answer to a request, from the thread that is at the key's shard: must be quick, and must not throw. It may
// call the limiter.
class KeyedCaller {
 public:
  virtual ~KeyedCaller() = default;
  // The request stands in line; OnAnswer follows.
  virtual void OnWaiting(KeyedTicket /*ticket*/) {}
  // Called once.
  virtual void OnAnswer(const KeyedAnswer& answer) = 0;
};

struct KeyedRequest {
  std::string_view key;
  bool may_wait = false;
  // A hash of the client. A client with many keys gets no room in the last quarter of the room for keys (NameRoom).
  std::optional<uint64_t> client = std::nullopt;
  // These apply to the key from now on, until it is forgotten or another request brings others.
  std::optional<uint32_t> max_requests;
  std::optional<uint32_t> max_waiting;
};

struct KeyState {
  std::string key;
  KeyedLimits limits;
  uint32_t used = 0;
  uint32_t waiting = 0;
  uint64_t refused = 0;  // since the key was made
  Duration until_room{};
  struct Lease {
    uint32_t left = 0;   // can be granted without asking
    uint32_t batch = 1;  // how many are asked for at a time
    bool on_its_way = false;
    bool alone = false;  // counts by itself, because the windows are away
  };
  std::optional<Lease> lease;  // if the key is shared
};

struct KeyedCounts {
  uint64_t granted = 0;  // at once or after waiting
  uint64_t refused = 0;
  uint64_t waited = 0;  // stood in line, granted or not
  uint64_t left = 0;    // left the line
  uint64_t given_back = 0;
  uint64_t keys = 0;     // now
  uint64_t waiting = 0;  // now
  // For shared windows:
  uint64_t leases = 0;             // leases asked for
  uint64_t leases_unanswered = 0;  // leases without an answer
  uint64_t leased = 0;             // grants leased
  uint64_t unspent = 0;            // leased grants that no request can have any more
};

class KeyedLimiter {
 public:
  // Uses the machine's clock, and a thread that calls Tick.
  explicit KeyedLimiter(KeyedConfig config, std::unique_ptr<SharedWindows> shared = nullptr);
  // The owner calls Tick. The clock must outlive the limiter.
  KeyedLimiter(KeyedConfig config, const Clock& clock, std::unique_ptr<SharedWindows> shared = nullptr);
  // Answers all requests in line with kClosed.
  ~KeyedLimiter();

  void Take(const KeyedRequest& request, const std::shared_ptr<KeyedCaller>& caller);
  // Calls done(true) if it was a grant in this key's window that had not been given back.
  void GiveBack(std::string_view key, uint64_t grant, std::function<void(bool)> done);
  // Takes the request out of line: it consumes nothing and is not answered. Does nothing if it is no longer in line.
  void Leave(std::string_view key, KeyedTicket ticket);

  // The rules also apply to the keys that there are.
  void SetRules(std::shared_ptr<const KeyedRules> rules);
  // Answers all requests in line, and all later ones, with kClosed.
  void Close();

  // Grants the requests in line for which there is room now, and forgets keys, a part of them each time. Returns when
  // it wants to be called again.
  TimePoint Tick();

  KeyedCounts Counts() const;
  // Returns nullopt if no window is shared.
  std::optional<SharedWindowsHealth> SharedHealth() const;
  // Describes one key; nullopt if there is no such key.
  void Describe(std::string_view key, std::function<void(std::optional<KeyState>)> done);
  // Describes some keys, from the place on.
  void DescribePage(PagePlace place, std::function<void(Page<KeyState>)> done);
  // Describes up to `most` keys, rounded up to the same number for each shard, in no order.
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
