// KeyedShard: stores some of the keys of a KeyedLimiter, with their windows and their waiting requests. A function that
// has the same name in KeyedLimiter does the same here, for one shard.
//
// Threads: only one at a time may use a KeyedShard, unless a comment says otherwise. Shards (by_name/shards.h) ensures
// that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/bound.h"
#include "config/text/name_hash.h"
#include "throttle/limits/by_name/grant_window.h"
#include "throttle/limits/by_name/page.h"
#include "throttle/limits/by_name/shared_count.h"
#include "throttle/limits/by_name/sweep.h"
#include "throttle/limits/keyed/keyed_limiter.h"
#include "throttle/limits/keyed/name_room.h"
#include "throttle/limits/keyed/shared_lease.h"
#include "throttle/limits/keyed/waiting_line.h"

namespace weir {

class KeyedShard {
 public:
  // Asks the SharedWindows for a lease, that is, for grants that the shard may give later (shared_lease.h). The
  // function has to pass the answer to OnLease, with the same `number`.
  using Ask = std::function<void(uint64_t number, const LeaseWish& wish)>;
  // The objects that a shard shares with the other shards. Those that are references must outlive the shard.
  struct Surroundings {
    const Clock& clock;
    NameRoom& keys;                             // bounds the memory for keys
    Bound& waiting;                             // bounds the number of requests in line
    std::function<void(TimePoint)> wants_tick;  // called with the time at which the shard needs a call of Tick
    Ask ask;                                    // null: no window is shared
    WhenAway when_away = WhenAway::kAlone;
  };
  KeyedShard(Surroundings surroundings, std::shared_ptr<const KeyedRules> rules);

  void Take(const HashedName& name, const KeyedRequest& request, const std::shared_ptr<KeyedCaller>& caller);
  bool GiveBack(const HashedName& name, uint64_t grant);
  void Leave(const HashedName& name, KeyedTicket ticket);
  // Handles the answer to a call of Surroundings::ask for the key `name`. `ask` is the number that this call got.
  void OnLease(const HashedName& name, uint64_t ask, const LeaseAnswer& answer);
  void SetRules(std::shared_ptr<const KeyedRules> rules);
  void Close();

  // Grants the requests in line for which there is room now, and removes some of the keys that no request has named for
  // a long time.
  void Tick();
  // Returns the time at which Tick has to be called; TimePoint::max() if there is no key.
  TimePoint NextTick() const;

  std::optional<KeyState> Describe(const HashedName& name) const;
  std::vector<KeyState> DescribeSome(size_t most) const;
  // Adds keys of this shard, whose number is `number`, to the page. Returns what Page::Add returns.
  bool AddTo(size_t number, Page<KeyState>* page) const;
  // Adds the shard's counts to *counts, except `keys` and `waiting`. May be called from any thread.
  void AddTo(KeyedCounts* counts) const;

 private:
  struct Shared {
    explicit Shared(const std::string& name) : key(name) {}

    const std::string& key;
    SharedLease lease;
  };
  struct Line : WaitingLine {
    TimePoint due = TimePoint::max();  // the time of the key's entry in due_; max: it has none
  };
  struct Key {
    bool HasRoom(TimePoint now) const {
      return window.used() < limits.max_requests && (shared == nullptr || shared->lease.HasRoom(now));
    }

    GrantWindow window;  // for a shared key: the grants that this process gave to requests in the current window
    KeyedLimits limits;
    std::unique_ptr<Line> line;      // null: no request waits
    std::unique_ptr<Shared> shared;  // null: this process counts the window by itself
    uint32_t refused = 0;
    uint32_t bytes = 0;  // the bytes that are reserved for the key in Surroundings::keys
    uint16_t party = NameRoom::kNoParty;
    uint32_t rules : 31 = 0;      // the version of the rules from which the limits come
    bool overridden : 1 = false;  // a request has replaced the limits of the rules
  };
  using Keys = std::unordered_map<std::string, Key, HashName, SameName>;
  using Named = Keys::value_type;
  using Due = std::pair<TimePoint, Key*>;

  // Returns the key with that name. If there is none, makes it, or returns null if there is no room for it.
  Named* FindOrMake(const HashedName& name, std::optional<uint64_t> client, TimePoint now);
  // Reserves as many bytes in Surroundings::keys as the key takes now. Call it after the key was made, and after its
  // window was changed or a grant was released.
  void Recount(Named* named);
  // Gives the key the limits of the current rules, unless a request has replaced them.
  void Refresh(Named* named, TimePoint now);
  void SetLimits(Named* named, const KeyedLimits& limits, TimePoint now);
  void Override(Named* named, const KeyedRequest& request, TimePoint now);
  // Shares the key's window with other processes, or stops sharing it, as its limits say.
  void ShareOrNot(Named* named);
  // Says what to do with a request that finds no room now: returns the code with which it has to be refused, or nullopt
  // if it has to wait in line.
  std::optional<KeyedCode> WhyNotWait(const Key& key, bool may_wait, TimePoint now) const;
  void Wait(Key* key, bool may_wait, const std::shared_ptr<KeyedCaller>& caller, TimePoint now);
  void Refuse(Key* key, KeyedCode code, KeyedCaller& caller, TimePoint now);
  void Grant(Key* key, KeyedCaller& caller, Duration waited, TimePoint now);
  void GrantThoseInLine(Key* key, TimePoint now);
  void LetGoThoseInLine(Key* key, TimePoint now);
  // Asks for a lease if the process counts the key alone and may ask the store again now.
  void GoBackToSharing(Key* key, TimePoint now);
  void AskFor(Key* key, TimePoint now);
  // Makes sure that Tick or OnLease handles the waiting requests of the key: adds the key to due_, or moves it to an
  // earlier time there, or asks for a lease.
  void MakeDue(Key* key, TimePoint now);
  // Removes the empty line of the key.
  void EndLine(Key* key);
  // Returns true if no request has named the key for a long time, so that the caller must remove it. In that case
  // Forgets releases the key's room, and counts the rest of its lease as unspent.
  bool Forgets(const Key& key, TimePoint now);
  KeyedAnswer AnswerOf(const Key& key, KeyedCode code, TimePoint now) const;
  static void TellOfAll(const SharedLease& lease, TimePoint now, KeyedAnswer* answer);
  KeyState StateOf(const std::string& name, const Key& key, TimePoint now) const;

  Surroundings surroundings_;
  std::shared_ptr<const KeyedRules> rules_;
  uint32_t rules_version_ = 0;
  bool closed_ = false;
  Keys keys_;
  Sweep sweep_;
  TimePoint next_sweep_ = TimePoint::max();
  std::set<Due> due_;  // keys with waiting requests, each at most once, the earliest first
  KeyedTicket next_ticket_ = 1;
  uint64_t next_ask_ = 1;

  SharedCount granted_, refused_, waited_, left_, given_back_;
  SharedCount leases_, leases_unanswered_, leased_, unspent_;
};

}  // namespace weir
