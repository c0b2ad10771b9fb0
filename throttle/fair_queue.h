// Those who wait in one class: in order within a party, in turns between the parties of a group, and the same between
// groups. What a party asks for moves only its own place: ten parties of which one asks ten times as much get a tenth
// each while all wait. A party of no group is a group of its own.
//
// Turns are given by bytes (fair_turns.h): a request of 70 MB waits until the others had 70 MB each, and delays nobody
// who asks for less. What a line was served too little is carried on to its next request, unless it gives up the one
// that it saved for.
//
// Memory is bounded by the waiters, and by some dozens of those who have gone. A turn costs the logarithm of the lines.
// Not thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <thread>

#include "throttle/admission.h"
#include "throttle/fair_turns.h"

namespace weir {

// One request that waits, or whose end has still to be told. Of its Admission; guarded by the gate's mutex.
struct Waiter : std::enable_shared_from_this<Waiter> {
  bool waits() const { return answer.state == Admission::State::kWaiting; }
  // When settled: the function is still to be called, or runs.
  bool is_being_told() const { return on_settled || teller != std::thread::id(); }

  Party party;
  uint64_t bytes = 0;
  TimePoint since{};
  TimePoint deadline{};
  Admission::Answer answer{Admission::State::kWaiting};
  bool has_permit = false;  // that has to end

  std::condition_variable changed;  // settled, or told
  std::function<void()> on_settled;
  std::thread::id teller;  // that runs it now
  std::list<Waiter*>::iterator position;
};

class FairQueue {
 public:
  void Push(Waiter& waiter);
  // One that gives up.
  void Remove(Waiter& waiter);

  // Whose turn it is; nullptr when nobody waits. The same answer until the queue changes.
  Waiter* Front() const { return size_ == 0 ? nullptr : groups_.Next().Head(); }
  // Front() was served: it leaves, and its party pays.
  void PopServed();

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // About how many bytes will be served before a new request of this party and size, were it to join now: a forecast
  // from totals, which what the others saved up can make too low by the largest request for each other party.
  uint64_t BytesAhead(const Party& party, uint64_t bytes) const;

 private:
  struct PartyLine : FairLine {
    uint64_t key = 0;
    uint64_t bytes = 0;  // that wait
    std::list<Waiter*> waiters;
  };
  // Apart, for the id of a party may be that of another's group.
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
    uint64_t bytes = 0;  // that wait
    FairLines<PartyLine> parties;
  };

  static GroupKey KeyOf(const Party& party) { return {GroupOf(party), party.group == 0}; }
  void WaitOn(GroupLine& group);
  void Unlink(Waiter& waiter, GroupLine& group, PartyLine& line);

  FairLines<GroupLine, GroupHash> groups_;
  size_t size_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace weir
