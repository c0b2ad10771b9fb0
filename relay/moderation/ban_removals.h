// BanRemovals: removes the events of banned authors, and banned events, in pieces of bulk work on the commit thread
// (relay/store/paced_removals.h). Removals take turns, so a small one does not wait for a large one. Each has a memo in
// the store until it is over, so it goes on after a restart.
//
// An event that the relay was taking during the ban may be saved after the removal has passed its place. So a removal
// goes through the author's events once more, a minute after the ban or later, and is over only then. Several relays on
// one database may carry out the same removal; this costs some work, and is otherwise harmless.
//
// Threads: any thread may call any function, except that only the commit thread may call RemovePiece.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
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
  static constexpr size_t kMostListed = 1000;

  struct Removal {
    DecisionList list = DecisionList::kBannedAuthors;  // or kBannedEvents
    std::string subject;
    uint64_t removed = 0;  // events, since this process began with the removal
    bool done = false;     // every event that was stored at the ban is removed
  };

  // `store` and the clock must outlive the object.
  BanRemovals(EventStore& store, const WallClock& clock) : store_(store), clock_(clock) {}

  // Returns true if a decision in this list removes events.
  static bool Removes(DecisionList list) {
    return list == DecisionList::kBannedAuthors || list == DecisionList::kBannedEvents;
  }
  // Returns the name of the memo of a removal. The caller must write it together with the ban, and remove it together
  // with the ban.
  static std::string MemoOf(DecisionList list, std::string_view subject);

  // Begins a removal, or begins it anew. `banned_at` is the time of the ban in seconds since 1970.
  void Begin(DecisionList list, const std::string& subject, uint64_t banned_at);
  // Begins a removal unless it has begun after this ban or a later one.
  void Resume(DecisionList list, const std::string& subject, uint64_t banned_at);
  // Ends a removal before it is over. Does nothing if there is none.
  void End(DecisionList list, std::string_view subject);

  // Removes some events, with about the work `most`.
  Result<OwedPiece> RemovePiece(Work most);

  // Returns at most kMostListed removals that are over, oldest first, and at most as many of the others.
  std::vector<Removal> List() const;
  uint64_t removed() const;  // events, since the start
  size_t going_on() const;   // removals that are not done

 private:
  // The time from which on a removal is due, in seconds since 1970, and a number that no other removal has.
  using Place = std::pair<uint64_t, uint64_t>;
  struct Item {
    Removal removal;
    uint64_t banned_at = 0;
    std::string resume;  // see EventStore::RemoveAuthor
    Place place;
  };

  bool TakeNext(Item* item) const;
  Result<OwedPiece> RemoveSome(Item* item, Work most);
  bool Note(const Item& item, const OwedPiece& piece);
  void PutOff(const Item& item);
  void EndAll(const std::vector<Memo>& over);
  void PutNew(DecisionList list, const std::string& subject, uint64_t banned_at) WEIR_REQUIRES(mutex_);
  void Put(const std::string& name, Item item, uint64_t due_at) WEIR_REQUIRES(mutex_);
  void Drop(const std::string& name) WEIR_REQUIRES(mutex_);

  EventStore& store_;
  const WallClock& clock_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, Item> items_ WEIR_GUARDED_BY(mutex_);  // by the names of their memos
  std::map<Place, std::string> order_ WEIR_GUARDED_BY(mutex_);           // the first name is next
  std::deque<Removal> over_ WEIR_GUARDED_BY(mutex_);
  uint64_t last_number_ WEIR_GUARDED_BY(mutex_) = 0;
  uint64_t removed_ WEIR_GUARDED_BY(mutex_) = 0;
  size_t going_on_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
