// BanRemovals: removes the events of banned authors, and banned events, in pieces of bulk work on the commit thread
// (relay/store/paced_removals.h). Each removal has a memo in the store until it is done, so it goes on after a restart.
//
// An event that the relay was taking during the ban may be saved after the removal has passed its place. So a removal
// looks again a minute after its ban, and only then its memo goes. Several relays on one database may carry out the
// same removal; this costs some work, and is otherwise harmless.
//
// Threads: any thread may call any function, except that only the commit thread may call RemovePiece.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/moderation/decision.h"
#include "relay/store/event_store.h"

namespace weir {

class BanRemovals {
 public:
  // The time after a ban at which the relay takes no event any more that it began to take before the ban.
  static constexpr uint64_t kSettlesAfterSeconds = 60;
  // The number of removals that are done and still listed.
  static constexpr size_t kMostDone = 1000;

  struct Removal {
    DecisionList list = DecisionList::kBannedAuthors;  // or kBannedEvents
    std::string subject;
    uint64_t removed = 0;  // events, since this process began with the removal
    bool done = false;     // every event that was stored at the ban is removed
  };

  // `store` and the clock must outlive the object.
  BanRemovals(EventStore& store, const WallClock& clock) : store_(store), clock_(clock) {}

  // Returns the name of the memo of a removal, which must be written together with the ban.
  static std::string MemoOf(DecisionList list, std::string_view subject);
  static bool Removes(DecisionList list) {
    return list == DecisionList::kBannedAuthors || list == DecisionList::kBannedEvents;
  }

  // Begins a removal, or begins it anew. `banned_at` is the time of the ban.
  void Begin(DecisionList list, const std::string& subject, uint64_t banned_at);
  // Ends a removal before it is done. Does nothing if there is none.
  void End(DecisionList list, std::string_view subject);

  // Removes some events, with about the work `most`.
  Result<OwedPiece> RemovePiece(Work most);

  // Returns the removals that are done, oldest first, and then the others.
  std::vector<Removal> List() const;
  uint64_t removed() const;  // events, since the start
  size_t going_on() const;   // removals that are not done

 private:
  struct Item {
    Removal removal;
    uint64_t banned_at = 0;
    std::string resume;  // see EventStore::RemoveAuthor
    uint64_t turn = 0;   // changes when the removal begins anew
  };

  bool IsDue(const Item& item, uint64_t now) const;
  std::deque<Item>::iterator Find(DecisionList list, std::string_view subject) WEIR_REQUIRES(mutex_);

  EventStore& store_;
  const WallClock& clock_;
  mutable Mutex mutex_;
  std::deque<Item> items_ WEIR_GUARDED_BY(mutex_);  // in turns; the first one is next
  std::deque<Removal> done_ WEIR_GUARDED_BY(mutex_);
  uint64_t turns_ WEIR_GUARDED_BY(mutex_) = 0;
  uint64_t removed_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
