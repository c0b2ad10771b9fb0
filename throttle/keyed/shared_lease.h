// SharedLease: how much a process may grant by itself for a key whose window it shares (SharedWindows), and when it has
// to ask.
//
// A lease holds until the time at which it was asked for + what the window had left when it was counted. That is never
// after the window's end. So all processes together never grant more in a window than was leased in it, and that is
// never more than the limit.
//
// It asks for the waiting requests and, if a lease was not enough before, for a batch beyond them: twice as much each
// time, up to a sixteenth of the limit. In a window a process leaves at most that unspent, and what was given back. A
// key that was quiet for a window begins with one at a time again.
//
// An answer may come when its window is over, mostly because it was asked for in the window's last moment. Then the
// window that runs by that time is asked for at once. Only if answers take a good share of a window, twice in a row, do
// they count as none.
//
// While the windows are away it either grants nothing beyond what it was leased, or counts alone: the whole limit in
// each window, whose edges go on as they were. When they are back, what it granted alone in the window that runs then
// counts against what it may grant.
//
// Threads: one at a time. `now` never goes back.
#pragma once

#include <algorithm>
#include <cstdint>

#include "config/clock.h"
#include "throttle/keyed/shared_windows.h"

namespace weir {

// How a process treats a shared key while the windows are away.
enum class WhenAway : uint8_t { kAlone, kRefuse };

class SharedLease {
 public:
  static constexpr uint32_t kShares = 16;
  // An answer that comes after its window is late if it took more than a window divided by this.
  static constexpr int kLateShare = 4;
  // A key does not ask more often than this while no answer comes.
  static constexpr Duration kAwayPause = std::chrono::milliseconds(100);

  // Returns true if there is something to grant.
  bool HasRoom(TimePoint now) const { return left_ > 0 && now < end_; }
  void Spend() { --left_; }
  void GiveBack() { ++left_; }  // within the window that it was spent in

  bool on_its_way() const { return ask_ != 0; }
  // If there is no room: returns true if none will come before the window's end.
  bool IsFull(TimePoint now) const { return now < end_ && (full_ || alone_); }
  TimePoint end() const { return end_; }
  // If there is no room: returns true if the windows are away; they are not asked before retry_at().
  bool IsAway(TimePoint now) const { return !alone_ && now < retry_at_; }
  TimePoint retry_at() const { return retry_at_; }
  bool alone() const { return alone_; }
  // Returns true if it counts alone and might not have to.
  bool WantsBack(TimePoint now) const { return alone_ && !on_its_way() && now >= retry_at_; }
  // If there is no room and a request waits: returns true if it is time to ask.
  bool WantsToAsk(TimePoint now) const { return !on_its_way() && (WantsBack(now) || (!IsFull(now) && !IsAway(now))); }
  // Returns when there may be room, or when it wants to ask.
  TimePoint LookAgainAt(TimePoint now) const {
    return !IsFull(now) ? retry_at_ : alone_ ? std::min(end_, retry_at_) : end_;
  }
  // To be called when the limit has changed.
  void ForgetFull() { full_ = false; }

  // Returns how many grants to wish for. Not to be called while a question is on its way. `ask` names this question and
  // is not 0; `spent` is what this process has spent in the window that runs.
  uint32_t Ask(TimePoint now, uint64_t ask, uint32_t waiting, uint32_t spent, uint32_t limit, Duration window);
  bool IsAnswerTo(uint64_t ask) const { return ask != 0 && ask == ask_; }
  struct Change {
    bool begins = false;   // a window begins, which ends at end(): nothing of it is spent
    bool moves = false;    // the end of the window that runs moves
    uint32_t unspent = 0;  // leased grants that are lost
  };
  Change OnAnswer(const LeaseAnswer& answer, TimePoint now, uint32_t spent, uint32_t limit, Duration window,
                  WhenAway when_away);

  // Returns how many grants of the running window all used, as far as is known. `spent` is this process's part.
  uint32_t UsedByAll(uint32_t spent) const {
    return alone_ ? spent : std::max(spent, used_by_all_ - std::min(used_by_all_, left_));
  }
  uint32_t left() const { return left_; }
  uint32_t unspent() const { return alone_ ? 0 : left_; }
  uint32_t batch() const { return batch_; }

 private:
  Change OnAway(TimePoint now, uint32_t spent, uint32_t limit, Duration window, WhenAway when_away);

  TimePoint end_ = TimePoint::min();  // end of the window; min: none is known
  TimePoint retry_at_ = TimePoint::min();
  TimePoint asked_at_{};
  uint64_t ask_ = 0;     // the question that is on its way; 0: none
  int64_t window_ = -1;  // its number; -1: this process's own window, while no other is known
  uint32_t wished_ = 0;
  uint32_t left_ = 0;  // to be spent until end_
  uint32_t used_by_all_ = 0;
  uint32_t batch_ = 1;
  bool full_ = false;
  bool alone_ = false;
  bool was_late_ = false;
};

}  // namespace weir
