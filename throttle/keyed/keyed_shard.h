// KeyedShard: some of the keys of a KeyedLimiter, with their windows and the requests that wait for them.
//
// Threads: one at a time, unless a comment says otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/bound.h"
#include "config/text/name_hash.h"
#include "throttle/by_name/grant_window.h"
#include "throttle/by_name/page.h"
#include "throttle/by_name/shared_count.h"
#include "throttle/by_name/sweep.h"
#include "throttle/keyed/keyed_limiter.h"
#include "throttle/keyed/name_room.h"
#include "throttle/keyed/shared_lease.h"
#include "throttle/keyed/waiting_line.h"

namespace weir {

class KeyedShard {
 public:
  // Asks for a lease. The answer has to bring back the number: OnLease.
  using Ask = std::function<void(uint64_t number, const LeaseWish& wish)>;
  // All of these must outlive the shard.
  struct Surroundings {
    const Clock& clock;
    NameRoom& keys;
    Bound& waiting;
    std::function<void(TimePoint)> wants_tick;  // at that time
    Ask ask;                                    // null: no window is shared
    WhenAway when_away = WhenAway::kAlone;
  };
  KeyedShard(Surroundings surroundings, std::shared_ptr<const KeyedRules> rules);

  void Take(const HashedName& name, const KeyedRequest& request, const std::shared_ptr<KeyedCaller>& caller);
  bool GiveBack(const HashedName& name, uint64_t grant);
  void Leave(const HashedName& name, KeyedTicket ticket);
  void OnLease(const HashedName& name, uint64_t ask, const LeaseAnswer& answer);
  void SetRules(std::shared_ptr<const KeyedRules> rules);
  void Close();

  // Grants the requests in line for which there is room now, and forgets keys that are no longer named.
  void Tick();
  // Returns when it wants to be called; never (TimePoint::max()) if there is no key.
  TimePoint NextTick() const;

  std::optional<KeyState> Describe(const HashedName& name) const;
  std::vector<KeyState> DescribeSome(size_t most) const;
  // Adds keys to the page, as Page::Add does.
  bool AddTo(size_t number, Page<KeyState>* page) const;
  // May be called from any thread. Adds the counts of what happened, not of what is there.
  void AddTo(KeyedCounts* counts) const;

 private:
  struct Shared {
    explicit Shared(const std::string& name) : key(name) {}

    const std::string& key;
    SharedLease lease;
  };
  struct Key {
    bool HasRoom(TimePoint now) const {
      return window.used() < limits.max_requests && (shared == nullptr || shared->lease.HasRoom(now));
    }

    GrantWindow window;  // for a shared key: what this process spends of the window that runs
    KeyedLimits limits;
    std::unique_ptr<WaitingLine> line;
    std::unique_ptr<Shared> shared;  // null: the window is this process' own
    uint32_t refused = 0;
    uint32_t bytes = 0;  // taken of the room for keys
    uint16_t party = NameRoom::kNoParty;
    uint32_t rules : 29 = 0;  // the version of the rules that its limits come from
    uint32_t dues : 2 = 0;    // how often it stands in due_; if it does, it is not forgotten
    bool overridden : 1 = false;
  };
  using Keys = std::unordered_map<std::string, Key, HashName, SameName>;
  using Named = Keys::value_type;
  using Due = std::pair<TimePoint, Key*>;

  Named* FindOrMake(const HashedName& name, std::optional<uint64_t> client, TimePoint now);
  // Updates what the key takes of the room for keys: once made, and when its window changed or got a grant back.
  void Recount(Named* named);
  // Gives the key its limits by the present rules.
  void Refresh(Named* named, TimePoint now);
  void SetLimits(Named* named, const KeyedLimits& limits, TimePoint now);
  void Override(Named* named, const KeyedRequest& request, TimePoint now);
  void ShareOrNot(Named* named);
  // Returns why a request that finds no room now may not wait; nullopt if it may stand in line.
  std::optional<KeyedCode> WhyNotWait(const Key& key, bool may_wait, TimePoint now) const;
  void Wait(Key* key, bool may_wait, const std::shared_ptr<KeyedCaller>& caller, TimePoint now);
  void Refuse(Key* key, KeyedCode code, KeyedCaller& caller, TimePoint now);
  void Grant(Key* key, KeyedCaller& caller, Duration waited, TimePoint now);
  void GrantThoseInLine(Key* key, TimePoint now);
  void LetGoThoseInLine(Key* key, TimePoint now);
  // Asks for a lease if the key counts alone and might not have to.
  void GoBackToSharing(Key* key, TimePoint now);
  void AskFor(Key* key, TimePoint now);
  // Sees to it that the key, for which requests wait, is looked at again.
  void MakeDue(Key* key, TimePoint now);
  // Returns true if the key was not named for long. Then its room is given back; what its lease has left is lost, and
  // counted.
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
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;  // keys for which requests wait
  KeyedTicket next_ticket_ = 1;
  uint64_t next_ask_ = 1;

  SharedCount granted_, refused_, waited_, left_, given_back_;
  SharedCount leases_, leases_unanswered_, leased_, unspent_;
};

}  // namespace weir
