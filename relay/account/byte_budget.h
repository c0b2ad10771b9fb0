// ByteBudget bounds the bytes of events that all connections together may have between frame and last subscriber. One
// group (an address) may have a quarter of that between frame and OK.
//
// A caller that finds the budget spent waits in line and is called when its bytes have been taken for it. Groups take
// turns by bytes (throttle/fair_turns.h): groups that ask for little pass one that asks for much until they have had as
// much. Requests of one group are granted in the order of asking. Only callers whose bytes were taken are woken. A
// group whose own quarter is out is passed over. A request larger than the whole budget passes when nothing else is
// out.
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
  static constexpr uint64_t kShares = 4;  // this many full shares make up the whole budget

  explicit ByteBudget(uint64_t bytes) : bytes_(bytes) {}

  // Returns true if the bytes were taken. Otherwise `granted` is called once, when they have been taken on the caller's
  // behalf, by the thread that frees enough; it should only hand over to another thread.
  bool Take(uint64_t group, uint64_t bytes, std::function<void()> granted);
  // Gives back bytes that are not held any more.
  void GiveBack(uint64_t bytes);
  // Ends the group's share of these bytes when the group has its OK. They stay taken until GiveBack.
  void Answered(uint64_t group, uint64_t bytes);
  // Drops all waiting requests without calling them.
  void ForgetWaiting();

  uint64_t bytes() const { return bytes_; }
  uint64_t out() const;
  uint64_t out_of(uint64_t group) const;
  size_t waiting() const;

 private:
  struct Waiting {
    uint64_t bytes;
    std::function<void()> granted;
  };
  // The waiting requests of a group.
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
  uint64_t out_ = 0;
  std::unordered_map<uint64_t, uint64_t> out_of_;  // bytes by group, if it has any out
  FairLines<Line> lines_;                          // a group whose quarter is out is of the second sort
  size_t waiting_ = 0;
};

}  // namespace weir
