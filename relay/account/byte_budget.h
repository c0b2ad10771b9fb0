// ByteBudget: limits the bytes of events that all connections together may have under way. An event is under way from
// the time at which its bytes are taken until the relay has answered it and, if it was accepted, has matched it with
// the subscriptions (relay/protocol/delivery.h names an exception). A group is usually the connections of one client
// address. The events of a group that the relay has not yet answered may take at most a quarter of the budget.
//
// A request for bytes waits if they do not fit, if an earlier request of its group waits, or if another group waits for
// room in the whole budget. Once the budget has taken the bytes for the request, it calls the request's callback.
// Waiting groups take turns by bytes (throttle/fair_turns.h), so a group that asks for little is served before groups
// that were granted much. Requests of one group are granted in the order in which they came. A group that has used up
// its quarter is passed over until the relay has answered some of its events. A request for more than a quarter fits
// the quarter when no event of its group waits for an answer, and a request for more than the whole budget fits when no
// bytes are taken at all.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <unordered_map>

#include "config/mutex.h"
#include "throttle/fair_turns.h"

namespace weir {

class ByteBudget {
 public:
  static constexpr uint64_t kShares = 4;  // a group's share is the budget divided by this number

  // `bytes` is the whole budget.
  explicit ByteBudget(uint64_t bytes) : bytes_(bytes) {}

  // Takes bytes for the group. Returns true if they were taken at once; `granted` is then dropped. Otherwise the
  // request waits, and `granted` is called once, after the bytes have been taken, unless ForgetWaiting is called first.
  // The thread that frees the bytes calls `granted`, in GiveBack or Answered, so `granted` should be quick. It may call
  // the budget. If `granted` throws, for example because memory runs out, it must have had no effect; a later call of
  // GiveBack, Answered or TellGranted then calls it again. The caller must pass all bytes that were taken to both
  // Answered and GiveBack. If memory runs out, Take throws and takes nothing.
  bool Take(uint64_t group, uint64_t bytes, std::function<void()> granted);
  // Destructors may call the next three functions, which neither allocate memory nor throw.

  // Gives bytes back to the budget. The caller must call it when the events are no longer under way.
  void GiveBack(uint64_t bytes);
  // Gives bytes back to the group's share. The caller must call it when the relay has answered the events. The bytes
  // stay taken from the whole budget until GiveBack.
  void Answered(uint64_t group, uint64_t bytes);
  // Calls each `granted` that has thrown. Should be called at times, so that no grant is left over.
  void TellGranted();
  // Drops all waiting requests without calling their `granted`, and each `granted` that has thrown.
  void ForgetWaiting();

  uint64_t bytes() const { return bytes_; }
  uint64_t out() const;                   // bytes that were taken and not passed to GiveBack yet
  uint64_t out_of(uint64_t group) const;  // the group's bytes that were taken and not passed to Answered yet
  size_t waiting() const;                 // the number of requests that wait

 private:
  struct Waiting {
    uint64_t bytes;
    std::function<void()> granted;
  };
  // The waiting requests of one group.
  struct Line : FairLine {
    uint64_t key = 0;
    std::list<Waiting> waiting;
  };
  bool Fits(uint64_t bytes) const WEIR_REQUIRES(mutex_) { return out_ == 0 || out_ + bytes <= bytes_; }
  bool FitsShare(uint64_t group, uint64_t bytes) const WEIR_REQUIRES(mutex_);
  // Calls `granted` of each request, and keeps those that throw. The caller must not hold mutex_.
  void Tell(std::list<Waiting> granted);
  bool IsWaiting(uint64_t group) const WEIR_REQUIRES(mutex_);
  bool SomebodyWaitsForTheWhole() const WEIR_REQUIRES(mutex_) {
    return lines_.turns().waiting(FairTurns::Sort::kFirst) > 0;
  }
  void TakeFor(uint64_t group, uint64_t bytes) WEIR_REQUIRES(mutex_);
  void WaitOn(Line& line) WEIR_REQUIRES(mutex_);
  void GrantWhatFits() WEIR_REQUIRES(mutex_);
  void ForgetIfDone(uint64_t group) WEIR_REQUIRES(mutex_);

  const uint64_t bytes_;
  mutable Mutex mutex_;
  uint64_t out_ WEIR_GUARDED_BY(mutex_) = 0;  // see out()
  // See out_of(), by group; without groups that have 0 and do not wait. Waiting groups are in it, so that a grant does
  // not have to allocate memory.
  std::unordered_map<uint64_t, uint64_t> out_of_ WEIR_GUARDED_BY(mutex_);
  // A group whose next request exceeds its share is of Sort::kSecond.
  FairLines<Line> lines_ WEIR_GUARDED_BY(mutex_);
  size_t waiting_ WEIR_GUARDED_BY(mutex_) = 0;
  std::list<Waiting> granted_ WEIR_GUARDED_BY(mutex_);  // requests that were granted and must still be told so
};

}  // namespace weir
