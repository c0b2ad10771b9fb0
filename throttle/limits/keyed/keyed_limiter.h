// KeyedLimiter: limits how many requests each key may make in a window of time. A key is any text that the caller
// chooses, such as the name of a user.
//
//   KeyedLimiter limiter({.rules = rules});
//   limiter.Take({.key = "user-123", .may_wait = true}, caller);   // calls caller->OnAnswer: granted, or refused
//   limiter.GiveBack("user-123", answer.grant, done);              // releases the grant
//
// In each window of a key, the limiter grants the first max_requests requests. It refuses all further requests, except
// those that may wait: these wait in line, if the line has a place, until the window has room again. Within a process,
// requests for one key are granted in the order in which they came. The limiter makes a key when a request first names
// it, and removes the key some time after three windows in which no request named it.
//
// With SharedWindows (shared_windows.h), several processes count the requests for a key together, in a store. Each
// process leases grants from the store, that is, takes them in advance, and has a line of its own. If a process has no
// leased grant left, even a request that may not wait stands in line until the store answers, and is counted as waiting
// until then, unless the process knows already that the window is full or the store away.
//
// Threads: any thread may call any function, and none blocks, except the destructor. Keys are spread over shards, and
// one thread at a time works on a shard: if a shard is busy, a call queues its work for the thread that works there
// (by_name/turn.h). So callbacks run in the calling thread before the call returns, or a moment later in the other
// thread. A request in line is answered in a thread that makes room for it or sees the room: one that calls the limiter
// for the same key, that calls Tick, or that belongs to the SharedWindows.
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
#include "throttle/limits/by_name/page.h"
#include "throttle/limits/keyed/keyed_limits.h"
#include "throttle/limits/keyed/name_room.h"
#include "throttle/limits/keyed/shared_lease.h"
#include "throttle/limits/keyed/shared_windows.h"

namespace weir {

class KeyedShard;
template <typename Shard>
class Shards;

struct KeyedConfig {
  std::shared_ptr<const KeyedRules> rules = std::make_shared<KeyedRules>();
  bool overrides = false;  // whether requests may bring limits of their own (KeyedRequest)
  // Room for this many keys of kUsualKeyBytes each. Long names, sliding windows and released grants take more.
  size_t max_keys = 1'000'000;
  size_t max_waiting = 100'000;  // the most requests in line, for all keys together
  size_t shards = 25;
  WhenAway when_away = WhenAway::kAlone;  // how to count while the store of the SharedWindows does not answer
};
inline constexpr size_t kMostKeyBytes = 512;
inline constexpr size_t kUsualKeyBytes = 256;  // the memory of a key with a name of 80 bytes

enum class KeyedCode : uint8_t {
  kGranted,
  kNoRoom,          // the window is full and the request may not wait, or max_requests is 0
  kLineFull,        // the window and the line of the key are full
  kInvalidKey,      // the key is empty, or longer than kMostKeyBytes
  kOverridesOff,    // the request has limits of its own, but KeyedConfig::overrides is false
  kTooManyKeys,     // there is no room for another key, or for another key of this client
  kTooManyWaiting,  // KeyedConfig::max_waiting requests are in line already, for all keys together
  kStoreAway,       // the store of the SharedWindows does not answer, and the request may not wait
  kClosed,          // Close was called
};

// The answer to a request. If the code is kInvalidKey, kOverridesOff, kTooManyKeys or kClosed, only the code is set.
struct KeyedAnswer {
  KeyedCode code = KeyedCode::kGranted;
  uint64_t grant = 0;    // if kGranted: the number of the grant, for GiveBack
  KeyedLimits limits;    // the limits of the key
  uint32_t used = 0;     // grants that count now, this one included; in a shared window, as far as the process knows
  uint32_t waiting = 0;  // requests in line for the key
  Duration waited{};     // if kGranted: how long the request stood in line; else 0
  // If kStoreAway: the time until the limiter asks the store again. Else: the time until the oldest grant that counts
  // leaves the window (0 if none counts) or, if the window is shared, until the window ends.
  Duration until_room{};
};

// Identifies a request in line, together with its key. Leave needs it.
using KeyedTicket = uint64_t;

// Receives the answer to one request. The limiter calls these functions in the thread that works on the key's shard, so
// they must be quick, and they must not throw. They may call the limiter, but must not destroy it.
class KeyedCaller {
 public:
  virtual ~KeyedCaller() = default;
  // Called when the request begins to wait in line, before OnAnswer. Not called for a request that is answered at once.
  virtual void OnWaiting(KeyedTicket /*ticket*/) {}
  // Called once, with the answer. Not called if Leave removed the request from the line.
  virtual void OnAnswer(const KeyedAnswer& answer) = 0;
};

struct KeyedRequest {
  std::string_view key;
  bool may_wait = false;
  // A hash of the client's identity. While the room for keys is nearly full, a client that has many keys gets no
  // further one (NameRoom). Without the hash, the key is bounded only by the whole room.
  std::optional<uint64_t> client = std::nullopt;
  // These replace the limits of the key, until the key is removed or another request brings other limits. Values above
  // kMostKeyedRequests and kMostKeyedWaiting are lowered to these bounds.
  std::optional<uint32_t> max_requests;
  std::optional<uint32_t> max_waiting;
};

struct KeyState {
  std::string key;
  KeyedLimits limits;
  uint32_t used = 0;      // grants that count now, as in KeyedAnswer
  uint32_t waiting = 0;   // requests in line
  uint64_t refused = 0;   // requests refused since the key was made
  Duration until_room{};  // KeyedAnswer::until_room, as if the code were not kStoreAway
  struct Lease {
    uint32_t left = 0;        // leased grants that no request has got yet
    uint32_t batch = 1;       // the batch (shared_lease.h), plus 1
    bool on_its_way = false;  // the process has asked the store and has no answer yet
    bool alone = false;       // the process counts by itself, because the store does not answer
  };
  std::optional<Lease> lease;  // nullopt: the window is not shared
};

// Numbers of requests since the limiter was made, unless a comment says otherwise.
struct KeyedCounts {
  uint64_t granted = 0;     // granted, at once or after waiting
  uint64_t refused = 0;     // refused, except with kInvalidKey, kOverridesOff or kClosed
  uint64_t waited = 0;      // requests that waited in line, granted or not
  uint64_t left = 0;        // requests that Leave removed from the line
  uint64_t given_back = 0;  // grants that GiveBack released
  uint64_t keys = 0;        // keys that exist now
  uint64_t waiting = 0;     // requests in line now
  // For shared windows:
  uint64_t leases = 0;             // how often the process asked the store for a lease
  uint64_t leases_unanswered = 0;  // how often no answer came
  uint64_t leased = 0;             // grants that the store leased to the process
  uint64_t unspent = 0;            // leased grants that no request got, because their window ended or changed
};

class KeyedLimiter {
 public:
  // Uses the system's clock, and starts a thread that calls Tick.
  explicit KeyedLimiter(KeyedConfig config, std::unique_ptr<SharedWindows> shared = nullptr);
  // Starts no thread: the caller has to call Tick. The clock must outlive the limiter.
  KeyedLimiter(KeyedConfig config, const Clock& clock, std::unique_ptr<SharedWindows> shared = nullptr);
  // Calls Close.
  ~KeyedLimiter();

  // Decides on a request, and keeps `caller` until the answer. Calls caller->OnAnswer; if the request has to wait in
  // line, calls caller->OnWaiting first, and caller->OnAnswer later.
  void Take(const KeyedRequest& request, const std::shared_ptr<KeyedCaller>& caller);
  // Releases a grant, so that another request can get its place in the window. Calls done(true) once if `grant` is the
  // number of a grant for `key` that counts and was not released before; else calls done(false). Some grants cannot be
  // released: those made before the length, the kind or the end of the key's window changed, and old ones if very many
  // grants of the window were released (GrantWindow::kMostGivenBack) or if there is no memory for their numbers.
  void GiveBack(std::string_view key, uint64_t grant, std::function<void(bool)> done);
  // Removes a request from the line. The request then consumes nothing, and OnAnswer is not called. Does nothing if the
  // request is not in line any more.
  void Leave(std::string_view key, KeyedTicket ticket);

  // Replaces the rules. They apply to existing keys too, except those whose limits a request has replaced.
  void SetRules(std::shared_ptr<const KeyedRules> rules);
  // Answers all requests in line, and all later requests, with kClosed. Removes all keys.
  void Close();

  // Grants the requests in line for which there is room now, and removes some of the keys that no request has named for
  // a long time. Returns the time at which Tick has to be called again; a later request may need an earlier call.
  TimePoint Tick();

  KeyedCounts Counts() const;
  // Returns nullopt if the limiter has no SharedWindows.
  std::optional<SharedWindowsHealth> SharedHealth() const;
  // Calls `done` once with the state of the key, or with nullopt if there is no such key.
  void Describe(std::string_view key, std::function<void(std::optional<KeyState>)> done);
  // Calls `done` once with a page of keys that begins at `place` (by_name/page.h).
  void DescribePage(PagePlace place, std::function<void(Page<KeyState>)> done);
  // Calls `done` once with the states of at most about `most` keys, in no particular order. Each shard describes at
  // most an equal part of them.
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
