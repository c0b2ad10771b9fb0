// FairQueue: holds the waiting requests of one class of work and chooses which one is served next. Requests of one
// party (admission.h) are served in the order in which they came; the parties of a group take turns, and so do the
// groups. A party without a group is a group of its own. A party that asks for more than its share delays only itself:
// if one of ten parties asks for ten times as much as each of the others, each party still gets a tenth while all ten
// wait.
//
// Turns are given by bytes (fair_turns.h): a request of 70 MB waits until each of the other parties has been served
// about 70 MB or has no request left. Then it is Front, and the gate chooses whether smaller requests (FrontSmall) pass
// before it. If a party or a group was served less than its share, it is still owed the
// difference as long as it goes on waiting. It loses this claim if its first waiting request is removed without being
// served, or if there is a crowd (fair_turns.h).
//
// Memory grows with the number of waiting requests; in addition, the queue remembers some dozens of parties and groups
// that have stopped waiting. Each operation takes time logarithmic in the number of parties and groups. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>

#include "config/mutex.h"
#include "throttle/admission.h"
#include "throttle/fair_turns.h"

namespace weir {

// A request that waits, or that was settled (admitted or refused) but whose Admission does not know the outcome yet.
// The Admission owns the Waiter. The gate owns it, too, as long as it still has to call on_settled. The gate's mutex
// guards it.
struct Waiter : std::enable_shared_from_this<Waiter> {
  bool waits() const { return answer.state == Admission::State::kWaiting; }
  // For a settled request: returns true until on_settled has returned; false if the request has no such function.
  bool is_being_told() const { return on_settled || teller != std::thread::id(); }

  Party party;
  uint64_t bytes = 0;
  uint64_t paid = 0;      // how many of them were charged to the limits already; FairQueue::Pay adds to it
  bool is_large = false;  // the gate lets other requests pass between the pieces in which this one pays
  TimePoint since{};      // when the request began to wait
  TimePoint deadline{};   // when the request is refused if it still waits
  TimePoint turn_at{};    // when its turn comes if the limits stay as they were when it began to wait
  // While a thread sleeps in Admission::Wait: when this thread wakes up by itself and pumps the gate.
  std::optional<TimePoint> looks_at;
  Admission::Answer answer{Admission::State::kWaiting};
  bool has_permit = false;  // the request was admitted with a permit that has to end

  // Notified when the request is settled, when looks_at was moved, and when on_settled has returned.
  Condition changed;
  std::function<void()> on_settled;  // the function given to Admission::OnSettled; empty once a thread has taken it
  std::thread::id teller;            // the thread that runs the function now; the default id if none does
  std::list<Waiter*>::iterator position;  // the request's place in the list of its party
};

class FairQueue {
 public:
  // Adds a waiter after the others of its party. The queue keeps a pointer to it until Remove or PopServed.
  void Push(Waiter& waiter);
  // Removes a waiter out of turn, for example because its wait was cancelled or took too long.
  void Remove(Waiter& waiter);

  // Returns the waiter that is to be served next, or nullptr if the queue is empty. The result stays the same until the
  // queue changes.
  Waiter* Front() const { return size_ == 0 ? nullptr : groups_.Next().Head(); }
  // Returns the waiter that is to be served next if large ones are left out, or nullptr if there is none. A group whose
  // next waiter is large is left out as a whole.
  Waiter* FrontSmall() const {
    return groups_.turns().waiting(FairTurns::Sort::kFirst) == 0 ? nullptr : groups_.Next(/*either_sort=*/false).Head();
  }
  // Counts `bytes` more bytes of a waiter as paid: BytesAhead leaves them out, and a later request does not come before
  // the waiter because of them.
  void Pay(Waiter& waiter, uint64_t bytes);
  // Removes Front() or FrontSmall(), which is served now, and counts its bytes for its party and group.
  void PopServed(Waiter& served);

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // Estimates how many bytes would be paid before a request of `bytes` bytes if `party` added it now. The estimate is
  // computed from totals: if another party has been served less than its share, the estimate may be too low by that
  // party's largest request.
  uint64_t BytesAhead(const Party& party, uint64_t bytes) const;

 private:
  struct PartyLine : FairLine {
    uint64_t key = 0;
    uint64_t bytes = 0;  // the bytes that its waiters have still to pay
    std::list<Waiter*> waiters;
  };
  // Keeps parties without a group apart from groups, because their ids may be equal.
  struct GroupKey {
    uint64_t id = 0;
    bool is_party = false;
    bool operator==(const GroupKey&) const = default;
  };
  struct GroupHash {
    size_t operator()(const GroupKey& key) const { return std::hash<uint64_t>()(2 * key.id + (key.is_party ? 1 : 0)); }
  };
  struct GroupLine : FairLine {
    Waiter* Head() const { return parties.turns().empty() ? nullptr : parties.Next().waiters.front(); }
    GroupKey key;
    uint64_t bytes = 0;  // the bytes that its waiters have still to pay
    FairLines<PartyLine> parties;
  };

  static GroupKey KeyOf(const Party& party) { return {GroupOf(party), party.group == 0}; }
  void WaitOn(GroupLine& group);
  void Unlink(Waiter& waiter, GroupLine& group, PartyLine& line);
  void Subtract(uint64_t bytes, GroupLine& group, PartyLine& line);

  FairLines<GroupLine, GroupHash> groups_;
  size_t size_ = 0;
  uint64_t bytes_ = 0;  // the bytes that all waiters have still to pay
};

}  // namespace weir
