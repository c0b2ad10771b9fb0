// ByteBudget limits the bytes of events that all connections together may have under way. An event is under way from
// its message until the last subscriber has it. One group (the connections of one client address) may have a quarter of
// the budget in events that have not had their OK, the relay's answer to an event.
//
// A caller whose bytes do not fit waits, and its callback is called when the bytes have been taken for it. Groups take
// turns by bytes (throttle/fair_turns.h): a group that asks for little goes before a group that has had much. Requests
// of one group are granted in the order of asking. A group that has its quarter is passed over until it has some of its
// OKs. A request that is too large is granted as well: one that exceeds the quarter if its group waits for no OK, and
// one that exceeds the whole budget if nothing is taken.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "throttle/fair_turns.h"

namespace weir {

class ByteBudget {
 public:
  static constexpr uint64_t kShares = 4;  // the number of groups that can have their full share at once

  // `bytes` is the whole budget.
  explicit ByteBudget(uint64_t bytes) : bytes_(bytes) {}

  // Takes bytes for the group. Returns true if they were taken at once; then `granted` is dropped. Otherwise the
  // request waits, and `granted` is called once, when the bytes have been taken for it, unless ForgetWaiting comes
  // first. The thread that frees enough bytes calls it, within GiveBack or Answered, so it should only post to another
  // thread. The caller has to pass all bytes that were taken to both Answered and GiveBack.
  bool Take(uint64_t group, uint64_t bytes, std::function<void()> granted);
  // Returns bytes to the budget when their events are no longer under way.
  void GiveBack(uint64_t bytes);
  // Returns bytes to the group's share, when their events have had their OKs. The bytes stay taken from the whole
  // budget until GiveBack.
  void Answered(uint64_t group, uint64_t bytes);
  // Drops all waiting requests without calling their `granted`.
  void ForgetWaiting();

  uint64_t bytes() const { return bytes_; }
  uint64_t out() const;                   // bytes that are taken and not given back
  uint64_t out_of(uint64_t group) const;  // bytes of the group that are taken and not answered
  size_t waiting() const;                 // the number of requests that wait

 private:
  struct Waiting {
    uint64_t bytes;
    std::function<void()> granted;
  };
  // The waiting requests of one group.
  struct Line : FairLine {
    uint64_t key = 0;
    std::deque<Waiting> waiting;
  };
  using Calls = std::vector<std::function<void()>>;
  bool Fits(uint64_t bytes) const { return out_ == 0 || out_ + bytes <= bytes_; }
  bool FitsShare(uint64_t group, uint64_t bytes) const;
  bool IsWaiting(uint64_t group) const;
  bool SomebodyWaitsForTheWhole() const { return lines_.turns().waiting(FairTurns::Sort::kFirst) > 0; }
  void TakeFor(uint64_t group, uint64_t bytes);
  void WaitOn(Line& line);
  Calls GrantWhatFits();

  const uint64_t bytes_;
  mutable std::mutex mutex_;
  uint64_t out_ = 0;                               // see out()
  std::unordered_map<uint64_t, uint64_t> out_of_;  // by group, without groups that have 0
  FairLines<Line> lines_;                          // a group that has its quarter is of the second sort
  size_t waiting_ = 0;
};

}  // namespace weir
