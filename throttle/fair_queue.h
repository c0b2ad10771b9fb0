// FairQueue: the requests that wait in one class: in order within a party, in turns between the parties of a group, and
// in turns between groups. A party's requests move only its own place: if one of ten parties asks for ten times as
// much, each still gets a tenth while all wait. A party without a group is a group of its own.
//
// Turns are given by bytes (fair_turns.h): a request of 70 MB waits until the others had 70 MB each, and delays no
// party that asks for less. If a line was served too little, that carries over to its next request, unless it gives up
// the request that it saved for.
//
// Memory is bounded by the waiters and some dozens of lines that have gone. A turn takes time logarithmic in the lines.
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

// A request that waits, or whose outcome has still to be told. Belongs to its Admission; guarded by the gate's mutex.
struct Waiter : std::enable_shared_from_this<Waiter> {
  bool waits() const { return answer.state == Admission::State::kWaiting; }
  // If settled: returns true while its function is still to be called, or runs.
  bool is_being_told() const { return on_settled || teller != std::thread::id(); }

  Party party;
  uint64_t bytes = 0;
  TimePoint since{};
  TimePoint deadline{};
  Admission::Answer answer{Admission::State::kWaiting};
  bool has_permit = false;  // a permit that has to end

  std::condition_variable changed;  // notified when settled, and when told
  std::function<void()> on_settled;
  std::thread::id teller;  // the thread that runs on_settled now
  std::list<Waiter*>::iterator position;
};

class FairQueue {
 public:
  void Push(Waiter& waiter);
  // Removes a waiter that gives up.
  void Remove(Waiter& waiter);

  // Returns the waiter whose turn it is, or nullptr if none waits. The answer stays the same until the queue changes.
  Waiter* Front() const { return size_ == 0 ? nullptr : groups_.Next().Head(); }
  // Removes Front(), which was served; its party pays.
  void PopServed();

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // Estimates how many bytes will be served before a new request of this party and size, if it joined now. It is a
  // forecast from totals; what other parties saved up can make it too low by one largest request for each of them.
  uint64_t BytesAhead(const Party& party, uint64_t bytes) const;

 private:
  struct PartyLine : FairLine {
    uint64_t key = 0;
    uint64_t bytes = 0;  // that its waiters ask for
    std::list<Waiter*> waiters;
  };
  // Keeps parties without a group apart from groups: the ids may be equal.
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
    uint64_t bytes = 0;  // that its waiters ask for
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
