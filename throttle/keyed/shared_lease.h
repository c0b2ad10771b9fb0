// SharedLease: what a process may grant by itself of a key whose window it shares (SharedWindows), and when it has to
// ask.
//
// A lease holds until the time at which it was asked for + what the window had left when it was counted. That is never
// after the window's end. So what all processes grant in a window is never more than was leased in it, and that is
// never more than the limit.
//
// It asks for those who wait and, where a lease was not enough before, for a batch beyond them: twice as much each
// time, up to a sixteenth of the limit. In a window a process leaves at most that unspent, and what was given back. One
// that was quiet for a window begins with one at a time again.
//
// An answer may come when its window is over, mostly because it was asked for in the window's last moment. The window
// that runs by then is asked for at once. Only answers that take a good share of a window, twice in a row, count as
// none.
//
// While the windows are away it either lets nobody through (beyond what it was leased), or counts alone: the whole
// limit in each window, whose edges go on as they were. What it has granted by itself counts against what it may grant
// when they are back, in the window that runs then.
//
// Threads: one at a time. `now` never goes back.
#pragma once

#include <algorithm>
#include <cstdint>

#include "config/clock.h"
#include "throttle/keyed/shared_windows.h"

namespace weir {

// What a process does with a shared key while the windows are away.
enum class WhenAway : uint8_t { kAlone, kRefuse };

class SharedLease {
 public:
  static constexpr uint32_t kShares = 16;
  // An answer that comes after its window was late if it took more than a window by this.
  static constexpr int kLateShare = 4;
  // A key does not ask more often while nobody answers.
  static constexpr Duration kAwayPause = std::chrono::milliseconds(100);

  // Something to grant.
  bool HasRoom(TimePoint now) const { return left_ > 0 && now < end_; }
  void Spend() { --left_; }
  void GiveBack() { ++left_; }  // within the window that it was spent in

  bool on_its_way() const { return ask_ != 0; }
  // Without room: whether there will be none before the window's end…
  bool IsFull(TimePoint now) const { return now < end_ && (full_ || alone_); }
  TimePoint end() const { return end_; }
  // …or nobody answers, and is not asked before retry_at().
  bool IsAway(TimePoint now) const { return !alone_ && now < retry_at_; }
  TimePoint retry_at() const { return retry_at_; }
  bool alone() const { return alone_; }
  // Counts alone, and might not have to.
  bool WantsBack(TimePoint now) const { return alone_ && !on_its_way() && now >= retry_at_; }
  // Of one without room, for somebody who waits.
  bool WantsToAsk(TimePoint now) const { return !on_its_way() && (WantsBack(now) || (!IsFull(now) && !IsAway(now))); }
  // When there may be room, or it wants to ask.
  TimePoint LookAgainAt(TimePoint now) const {
    return !IsFull(now) ? retry_at_ : alone_ ? std::min(end_, retry_at_) : end_;
  }
  // The limit is another.
  void ForgetFull() { full_ = false; }

  // Not while one is on its way. How many to wish for; ask: what names this question, not 0. spent: in the window that
  // runs by now, by this process.
  uint32_t Ask(TimePoint now, uint64_t ask, uint32_t waiting, uint32_t spent, uint32_t limit, Duration window);
  bool IsAnswerTo(uint64_t ask) const { return ask != 0 && ask == ask_; }
  struct Change {
    bool begins = false;   // a window, which ends at end(): nothing is spent of it
    bool moves = false;    // the end of the one that runs
    uint32_t unspent = 0;  // of what was leased, and is lost
  };
  Change OnAnswer(const LeaseAnswer& answer, TimePoint now, uint32_t spent, uint32_t limit, Duration window,
                  WhenAway when_away);

  // Of the window that runs, by all as far as is known; spent by this process.
  uint32_t UsedByAll(uint32_t spent) const {
    return alone_ ? spent : std::max(spent, used_by_all_ - std::min(used_by_all_, left_));
  }
  uint32_t left() const { return left_; }
  uint32_t unspent() const { return alone_ ? 0 : left_; }
  uint32_t batch() const { return batch_; }

 private:
  Change OnAway(TimePoint now, uint32_t spent, uint32_t limit, Duration window, WhenAway when_away);

  TimePoint end_ = TimePoint::min();  // of the window; min: none is known
  TimePoint retry_at_ = TimePoint::min();
  TimePoint asked_at_{};
  uint64_t ask_ = 0;     // that is on its way; 0: none
  int64_t window_ = -1;  // its number; -1: this process' own, while nobody has said one
  uint32_t wished_ = 0;
  uint32_t left_ = 0;  // to be spent until end_
  uint32_t used_by_all_ = 0;
  uint32_t batch_ = 1;
  bool full_ = false;
  bool alone_ = false;
  bool was_late_ = false;
};

}  // namespace weir
