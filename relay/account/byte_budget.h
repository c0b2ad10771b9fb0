// ByteBudget: how many bytes all connections together may have between frame and last subscriber, and those of one
// group (an address) between frame and OK: a quarter of it.
//
// Whoever finds it spent stands in line and is told when its bytes have been taken for it. Groups take turns by bytes
// (throttle/fair_turns.h): one that asks for much is passed by those who ask for little until they have had as much.
// Within a group it goes in the order of asking. No herd wakes; only a group whose own quarter is out is left out. A
// request larger than the whole passes when nothing else is out.
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
  static constexpr uint64_t kShares = 4;  // groups that fill everything

  explicit ByteBudget(uint64_t bytes) : bytes_(bytes) {}

  // True: taken. False: `granted` will be called once, by the thread that gives back enough, when they are taken on the
  // caller's behalf; it should only hand over.
  bool Take(uint64_t group, uint64_t bytes, std::function<void()> granted);
  // Nobody holds them any more.
  void GiveBack(uint64_t bytes);
  // They do not count as the group's any more, who was given its OK.
  void Answered(uint64_t group, uint64_t bytes);
  // Nobody is told any more.
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
  // Of a group.
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
  std::unordered_map<uint64_t, uint64_t> out_of_;  // of groups that have something out
  FairLines<Line> lines_;                          // a group whose quarter is out is of the second sort
  size_t waiting_ = 0;
};

}  // namespace weir
