// KeyedShard: some of the keys of a KeyedLimiter, with their windows and those who wait for them.
//
// Threads: one at a time, but for what says otherwise.
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
#include "throttle/by_name/shared_count.h"
#include "throttle/by_name/sweep.h"
#include "throttle/keyed/keyed_limiter.h"
#include "throttle/keyed/waiting_line.h"

namespace weir {

class KeyedShard {
 public:
  // All must outlive it.
  struct Surroundings {
    const Clock& clock;
    Bound& keys;
    Bound& waiting;
    std::function<void(TimePoint)> wants_tick;  // at that time
  };
  KeyedShard(Surroundings surroundings, std::shared_ptr<const KeyedRules> rules);

  void Take(const HashedName& name, const KeyedRequest& request, const std::shared_ptr<KeyedCaller>& caller);
  bool GiveBack(const HashedName& name, uint64_t grant);
  void Leave(const HashedName& name, KeyedTicket ticket);
  void SetRules(std::shared_ptr<const KeyedRules> rules);
  void Close();

  // Grants those for whom there is room now, and forgets keys that nobody names.
  void Tick();
  // When it wants to be called: never, where there is no key.
  TimePoint NextTick() const;

  std::optional<KeyState> Describe(const HashedName& name) const;
  std::vector<KeyState> DescribeSome(size_t most) const;
  // Any thread. Of what happened, not of what is there.
  void AddTo(KeyedCounts* counts) const;

 private:
  struct Key {
    GrantWindow window;
    KeyedLimits limits;
    std::unique_ptr<WaitingLine> line;
    uint32_t rules = 0;  // the version that its limits are of
    uint32_t refused = 0;
    bool overridden = false;
    bool is_due = false;  // stands in due_, and is not forgotten
  };
  using Keys = std::unordered_map<std::string, Key, HashName, SameName>;
  using Due = std::pair<TimePoint, Key*>;

  Key* FindOrMake(const HashedName& name, TimePoint now);
  // By the rules that hold now.
  void Refresh(std::string_view name, Key* key, TimePoint now);
  void SetLimits(Key* key, const KeyedLimits& limits, TimePoint now);
  void Override(Key* key, const KeyedRequest& request, TimePoint now);
  void Wait(Key* key, const std::shared_ptr<KeyedCaller>& caller, TimePoint now);
  void Refuse(Key* key, KeyedCode code, KeyedCaller& caller, TimePoint now);
  void Grant(Key* key, KeyedCaller& caller, Duration waited, TimePoint now);
  void GrantThoseInLine(Key* key, TimePoint now);
  void MakeDue(Key* key, TimePoint now);
  static bool IsIdle(const Key& key, TimePoint now);
  KeyedAnswer AnswerOf(const Key& key, KeyedCode code, TimePoint now) const;
  KeyState StateOf(const std::string& name, const Key& key, TimePoint now) const;

  Surroundings surroundings_;
  std::shared_ptr<const KeyedRules> rules_;
  uint32_t rules_version_ = 0;
  bool closed_ = false;
  Keys keys_;
  Sweep sweep_;
  TimePoint next_sweep_ = TimePoint::max();
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;  // keys for which somebody waits
  KeyedTicket next_ticket_ = 1;

  SharedCount granted_, refused_, waited_, left_, given_back_;
};

}  // namespace weir
