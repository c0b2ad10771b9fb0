// Those who wait in one class: in order within a party, deficit round robin in bytes between the parties of a group,
// and the same between groups. What a party asks for moves only its own place: ten parties of which one asks ten times
// as much get a tenth each while all wait. A party of no group is a group of its own.
//
// Memory is bounded by the waiters; a party is forgotten with its last. Not thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <unordered_map>

#include "throttle/admission.h"

namespace weir {

// One request that waits. Owned by its Admission; guarded by the gate's mutex.
struct Waiter {
  Party party;
  uint64_t bytes = 0;
  TimePoint since{};
  TimePoint deadline{};

  Admission::State state = Admission::State::kWaiting;
  TimePoint settled_at{};
  bool holds_slot = false;  // of the gate's concurrency
  std::string_view reason;
  Duration retry_after{};

  std::condition_variable settled;
  std::function<void()> on_settled;
  std::list<Waiter*>::iterator position;
};

class FairQueue {
 public:
  void Push(Waiter& waiter);
  void Remove(Waiter& waiter);

  // Whose turn it is; nullptr when nobody waits. The same answer until the queue changes.
  Waiter* Front();
  // Front() was served: it leaves, and its party pays.
  void PopServed();

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // About how many bytes will be served before a new request of this party, were it to join now: a forecast from
  // totals, which the others' deficits and the rounding of rounds can make too low by two quanta for each other party.
  uint64_t BytesAhead(const Party& party) const;

 private:
  // Lines that take turns: parties within a group, groups among each other.
  template <typename Line>
  struct Round {
    using Place = typename std::list<Line>::iterator;

    Place Join(uint64_t id);
    void Leave(Place line);
    void Advance();
    Waiter* Front(uint64_t quantum);

    std::list<Line> ring;
    Place turn = ring.end();
  };
  struct PartyLine {
    explicit PartyLine(uint64_t party) : id(party) {}
    Waiter* Head(uint64_t) { return waiters.front(); }

    uint64_t id;
    std::list<Waiter*> waiters;
    uint64_t bytes = 0;
    uint64_t deficit = 0;
    bool visited = false;  // has had its quantum of this round
  };
  struct GroupLine {
    explicit GroupLine(uint64_t group) : id(group) {}
    Waiter* Head(uint64_t quantum) { return parties.Front(quantum); }

    uint64_t id;
    Round<PartyLine> parties;
    std::unordered_map<uint64_t, Round<PartyLine>::Place> places;
    uint64_t bytes = 0;
    uint64_t deficit = 0;
    bool visited = false;
  };
  using Groups = std::unordered_map<uint64_t, Round<GroupLine>::Place>;

  // A party of no group is looked up by its own id.
  Groups& GroupsOf(const Party& party) { return party.group == 0 ? loners_ : groups_; }
  static uint64_t KeyOf(const Party& party) { return party.group == 0 ? party.id : party.group; }
  void Unlink(Waiter& waiter);

  Round<GroupLine> round_;
  Groups loners_;
  Groups groups_;
  size_t size_ = 0;
  uint64_t bytes_ = 0;
  // Not below the largest request since the queue was last empty, so that every visit serves at least one.
  uint64_t quantum_ = 0;
};

}  // namespace weir
