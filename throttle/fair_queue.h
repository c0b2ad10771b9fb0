// Those who wait in one class: in order within a party, in turns between the parties of a group, and the same between
// groups. What a party asks for moves only its own place: ten parties of which one asks ten times as much get a tenth
// each while all wait. A party of no group is a group of its own.
//
// Turns are those of a deficit round robin whose quantum is one byte, found without walking its rounds (self-clocked
// fair queueing): the first request of each line is done when the line has been served as many bytes as it asks for,
// and the one that is done first has its turn. So a request of 70 MB waits until the others had 70 MB each, and delays
// nobody who asks for less. What a line was served too little is carried on to its next request, unless it gives up the
// one that it saved for.
//
// Memory is bounded by the waiters; a party is forgotten with its last. A turn costs the logarithm of the lines. Not
// thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <thread>
#include <unordered_map>

#include "throttle/admission.h"

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
  Waiter* Front() const { return size_ == 0 ? nullptr : turns_.First().Head(); }
  // Front() was served: it leaves, and its party pays.
  void PopServed();

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // About how many bytes will be served before a new request of this party and size, were it to join now: a forecast
  // from totals, which what the others saved up can make too low by the largest request for each other party.
  uint64_t BytesAhead(const Party& party, uint64_t bytes) const;

 private:
  // Lines that take turns: parties within a group, groups among each other. Time in here is bytes served to each.
  template <typename L>
  class Turns {
   public:
    void Join(L& line);   // one that is new, with a head
    void Leave(L& line);  // with or without a head
    // The line's head became another.
    void Update(L& line);
    void Served(L& line);
    // What the line was served too little is forgotten.
    void Forfeit(L& line) { line.served = now_; }
    L& First() const { return **order_.begin(); }

   private:
    struct Earlier {
      bool operator()(const L* a, const L* b) const {
        return a->done != b->done ? a->done < b->done : a->number < b->number;
      }
    };
    std::set<L*, Earlier> order_;
    uint64_t now_ = 0;
    uint64_t joined_ = 0;
  };
  struct Line {
    explicit Line(uint64_t key) : id(key) {}
    uint64_t id;
    uint64_t bytes = 0;   // that wait
    uint64_t served = 0;  // the time up to which it was served
    uint64_t done = 0;    // when its head will be
    uint64_t number = 0;  // among those done at the same time
  };
  struct PartyLine : Line {
    using Line::Line;
    Waiter* Head() const { return waiters.front(); }
    std::list<Waiter*> waiters;
  };
  struct GroupLine : Line {
    using Line::Line;
    Waiter* Head() const { return turns.First().Head(); }
    Turns<PartyLine> turns;
    std::unordered_map<uint64_t, PartyLine> parties;
  };
  using Groups = std::unordered_map<uint64_t, GroupLine>;

  // Apart, for the id of a party may be that of another's group.
  Groups& GroupsOf(const Party& party) { return party.group == 0 ? loners_ : groups_; }
  void Unlink(Waiter& waiter);

  Turns<GroupLine> turns_;
  Groups loners_;
  Groups groups_;
  size_t size_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace weir
