// SharedLease: tracks the grants of one key that this process has leased from a store. Several processes share the
// window of the key through this store (shared_windows.h). SharedLease says how many grants this process may give
// without asking the store, when the process has to ask, and for how many grants.
//
// A lease ends at the time at which the process asked for it, plus the time that the window had left when the store
// counted the lease (LeaseAnswer::remaining). This is never after the window's end. So, while the store answers, all
// processes together never grant more in a window than the store leased in it, and the store never leases more than the
// limit.
//
// A process asks for one grant for each waiting request, plus a batch of further grants. The batch is empty at first.
// It about doubles whenever the process has to ask again in the same window, up to a sixteenth of the limit. It is
// halved if half of it is unspent (given to no request) at the end of a window, and is empty again after a whole window
// in which the process did not ask. At the end of a window, a process loses at most one batch, plus grants that were
// released or were leased for requests that left.
//
// An answer may come after the end of its window, mostly because the process asked in the last moment of the window.
// Then the process asks again at once, for the next window. If two such answers in a row took more than a quarter of a
// window each, the process treats the store as away, that is, as not answering.
//
// While the store is away, the process either grants no more than it has leased, or counts alone (WhenAway). Alone, it
// grants up to the limit in each window, and its windows begin and end as before. When the store answers again, the
// grants that the process has given in the current window reduce what it may still grant in this window.
//
// Threads: only one at a time may use a SharedLease. The time that is passed as `now` must never go back.
#pragma once

#include <algorithm>
#include <cstdint>

#include "config/clock.h"
#include "throttle/limits/keyed/shared_windows.h"

namespace weir {

// How a process treats a shared key while the store is away. kAlone: the process counts alone. kRefuse: it grants no
// more than it has leased.
enum class WhenAway : uint8_t { kAlone, kRefuse };

class SharedLease {
 public:
  static constexpr uint32_t kShares = 16;  // a batch is at most the limit divided by this
  // An answer after the end of its window is late if it took more than the window's length divided by this.
  static constexpr int kLateShare = 4;
  // If no answer comes, the process waits at least this long before it asks for the key again.
  static constexpr Duration kAwayPause = std::chrono::milliseconds(100);

  // Returns true if the process may give a grant now without asking the store.
  bool HasRoom(TimePoint now) const { return left_ > 0 && now < end_; }
  void Spend() { --left_; }     // counts a grant; REQUIRES: HasRoom is true
  void GiveBack() { ++left_; }  // releases a grant that was spent in the current window

  bool on_its_way() const { return ask_ != 0; }  // true if the process has asked and has no answer yet
  // REQUIRES: HasRoom is false. Returns true if the process will get no further grant before end().
  bool IsFull(TimePoint now) const { return now < end_ && (full_ || alone_); }
  TimePoint end() const { return end_; }  // the end of the window; TimePoint::min() if none is known
  // REQUIRES: HasRoom is false. Returns true if the store is away. The process may ask it again at retry_at().
  bool IsAway(TimePoint now) const { return !alone_ && now < retry_at_; }
  TimePoint retry_at() const { return retry_at_; }
  bool alone() const { return alone_; }
  // Returns true if the process counts alone, and may ask the store now whether it answers again.
  bool WantsBack(TimePoint now) const { return alone_ && !on_its_way() && now >= retry_at_; }
  // REQUIRES: HasRoom is false and a request waits. Returns true if the process should ask the store now.
  bool WantsToAsk(TimePoint now) const { return !on_its_way() && (WantsBack(now) || (!IsFull(now) && !IsAway(now))); }
  // REQUIRES: as for WantsToAsk, which has returned false. Returns the time at which the caller should look at the key
  // again.
  TimePoint LookAgainAt(TimePoint now) const {
    return !IsFull(now) ? retry_at_ : alone_ ? std::min(end_, retry_at_) : end_;
  }
  // Lets the process ask again in a window for which the store had no more grants. Called when the limit has changed.
  void ForgetFull() { full_ = false; }

  // Records that the process asks the store now, and returns the number of grants that it has to ask for. REQUIRES: the
  // previous question was answered. `ask` identifies the question and must not be 0. `waiting` is the number of waiting
  // requests, and `spent` the number of grants that the process has spent (given to requests) in the current window.
  uint32_t Ask(TimePoint now, uint64_t ask, uint32_t waiting, uint32_t spent, uint32_t limit, Duration window);
  bool IsAnswerTo(uint64_t ask) const { return ask != 0 && ask == ask_; }
  // The changes that the caller has to make to its own count of the window after an answer.
  struct Change {
    bool begins = false;   // a new window has begun, which ends at end(); none of its grants is spent
    bool moves = false;    // the current window continues, but now ends at end()
    uint32_t unspent = 0;  // leased grants that can no longer be given to a request
  };
  // Handles the answer to the last question. `spent` is as in Ask.
  Change OnAnswer(const LeaseAnswer& answer, TimePoint now, uint32_t spent, uint32_t limit, Duration window,
                  WhenAway when_away);

  // Returns how many grants of the current window all processes together have used, as far as this process knows.
  // `spent` is the number of grants that this process has spent.
  uint32_t UsedByAll(uint32_t spent) const {
    return alone_ ? spent : std::max(spent, used_by_all_ - std::min(used_by_all_, left_));
  }
  uint32_t left() const { return left_; }  // the number of grants that the process may still give until end()
  uint32_t unspent() const { return alone_ ? 0 : left_; }
  uint32_t batch() const { return batch_; }

 private:
  Change OnAway(TimePoint now, uint32_t spent, uint32_t limit, Duration window, WhenAway when_away);

  TimePoint end_ = TimePoint::min();       // the end of the window; min: none is known
  TimePoint retry_at_ = TimePoint::min();  // when the process may ask the store again
  TimePoint asked_at_{};
  uint64_t ask_ = 0;     // identifies the question that has no answer yet; 0: there is none
  int64_t window_ = -1;  // the window's number; -1: not known, because the store has not answered yet
  uint32_t wished_ = 0;  // the number of grants in the last question
  uint32_t left_ = 0;    // grants that the process may give until end_
  uint32_t used_by_all_ = 0;
  uint32_t batch_ = 1;
  bool full_ = false;  // the store has no more grants in this window
  bool alone_ = false;
  bool was_late_ = false;
};

}  // namespace weir
