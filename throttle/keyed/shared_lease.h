// SharedLease: tracks the leased grants of one key whose window several processes share (shared_windows.h). It says how
// many grants this process may give without asking the store, when it has to ask, and for how many.
//
// A lease ends at the time at which the process asked for it, plus the time that the window had left when the store
// counted the lease (LeaseAnswer::remaining). This is never after the window's end. So all processes together never
// grant more in a window than the store leased in it, and the store never leases more than the limit.
//
// A process asks for one grant for each waiting request and, if earlier leases were not enough, for a batch in
// addition, which is twice as large each time, up to a sixteenth of the limit. At the end of a window a process loses
// at most one batch and the grants that were given back. A key without requests for a window begins with one grant at a
// time again.
//
// An answer may come after the end of its window, mostly because the process asked in the window's last moment. Then
// the process asks at once for the window that has begun since. If two such answers in a row took more than a quarter
// of a window, the store counts as away, that is, as not answering.
//
// While the store is away, the process either grants nothing beyond what was leased, or counts alone. Alone it grants
// the whole limit in each window, and its windows go on beginning and ending as before. When the store answers again,
// the grants that the process gave in the current window while alone count against what it may grant.
//
// Threads: only one at a time may use a SharedLease. The time that is passed as `now` must never go back.
#pragma once

#include <algorithm>
#include <cstdint>

#include "config/clock.h"
#include "throttle/keyed/shared_windows.h"

namespace weir {

// The behaviour of a process for a shared key while the store is away. kAlone: it counts alone. kRefuse: it grants
// nothing beyond what was leased.
enum class WhenAway : uint8_t { kAlone, kRefuse };

class SharedLease {
 public:
  static constexpr uint32_t kShares = 16;
  // An answer after the end of its window is late if it took more than a window divided by this.
  static constexpr int kLateShare = 4;
  // While no answer comes, the process waits at least this long before it asks for the key again.
  static constexpr Duration kAwayPause = std::chrono::milliseconds(100);

  // Returns true if the process may give a grant now.
  bool HasRoom(TimePoint now) const { return left_ > 0 && now < end_; }
  void Spend() { --left_; }     // HasRoom must be true
  void GiveBack() { ++left_; }  // the grant must have been spent in the current window

  bool on_its_way() const { return ask_ != 0; }
  // For a key without room: returns true if no grant will come before the window's end.
  bool IsFull(TimePoint now) const { return now < end_ && (full_ || alone_); }
  TimePoint end() const { return end_; }  // the window's end; TimePoint::min() if none is known
  // For a key without room: returns true if the store is away. The store is asked again at retry_at().
  bool IsAway(TimePoint now) const { return !alone_ && now < retry_at_; }
  TimePoint retry_at() const { return retry_at_; }
  bool alone() const { return alone_; }
  // Returns true if the process counts alone and may ask the store again now.
  bool WantsBack(TimePoint now) const { return alone_ && !on_its_way() && now >= retry_at_; }
  // For a key without room for which a request waits: returns true if it is time to ask.
  bool WantsToAsk(TimePoint now) const { return !on_its_way() && (WantsBack(now) || (!IsFull(now) && !IsAway(now))); }
  // For such a key, if it is not time to ask: returns when there may be room, or when it will be time to ask.
  TimePoint LookAgainAt(TimePoint now) const {
    return !IsFull(now) ? retry_at_ : alone_ ? std::min(end_, retry_at_) : end_;
  }
  // Lets the process ask again in a window for which the store had no more grants. Call it when the limit has changed.
  void ForgetFull() { full_ = false; }

  // Notes that the process asks now, and returns for how many grants. No other question may be on its way. `ask` names
  // the question and is not 0; `waiting` is the number of waiting requests; `spent` is how many grants the process has
  // spent in the current window.
  uint32_t Ask(TimePoint now, uint64_t ask, uint32_t waiting, uint32_t spent, uint32_t limit, Duration window);
  bool IsAnswerTo(uint64_t ask) const { return ask != 0 && ask == ask_; }
  // The changes that an answer makes to the window that the caller counts.
  struct Change {
    bool begins = false;   // a new window begins, which ends at end(); no grant of it is spent
    bool moves = false;    // the current window goes on, but now ends at end()
    uint32_t unspent = 0;  // leased grants that are lost
  };
  // Takes the answer to the question that is on its way.
  Change OnAnswer(const LeaseAnswer& answer, TimePoint now, uint32_t spent, uint32_t limit, Duration window,
                  WhenAway when_away);

  // Returns how many grants of the current window all processes have used, as far as this process knows. `spent` is its
  // own part.
  uint32_t UsedByAll(uint32_t spent) const {
    return alone_ ? spent : std::max(spent, used_by_all_ - std::min(used_by_all_, left_));
  }
  uint32_t left() const { return left_; }  // grants that the process may still give until end()
  uint32_t unspent() const { return alone_ ? 0 : left_; }
  uint32_t batch() const { return batch_; }

 private:
  Change OnAway(TimePoint now, uint32_t spent, uint32_t limit, Duration window, WhenAway when_away);

  TimePoint end_ = TimePoint::min();       // the window's end; min: none is known
  TimePoint retry_at_ = TimePoint::min();  // when the store may be asked again
  TimePoint asked_at_{};
  uint64_t ask_ = 0;     // the question that is on its way; 0: none
  int64_t window_ = -1;  // the window's number; -1: the process counts alone and knows no number
  uint32_t wished_ = 0;
  uint32_t left_ = 0;  // grants to spend until end_
  uint32_t used_by_all_ = 0;
  uint32_t batch_ = 1;
  bool full_ = false;  // the store has no more grants in this window
  bool alone_ = false;
  bool was_late_ = false;
};

}  // namespace weir
