// Those who wait in one class: in order within a party, deficit round robin in bytes between parties. What a party asks
// for moves only its own place: ten parties of which one asks ten times as much get a tenth each while all wait.
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
  uint64_t BytesAhead(uint64_t party) const;

 private:
  struct PartyLine {
    explicit PartyLine(uint64_t id) : party(id) {}

    uint64_t party;
    std::list<Waiter*> waiters;
    uint64_t bytes = 0;
    uint64_t deficit = 0;
    bool visited = false;  // has had its quantum of this round
  };
  using Ring = std::list<PartyLine>;

  void Unlink(Ring::iterator line, Waiter& waiter);
  void Advance();

  Ring ring_;  // parties with waiters, in the order of the round
  Ring::iterator turn_ = ring_.end();
  std::unordered_map<uint64_t, Ring::iterator> lines_;
  size_t size_ = 0;
  uint64_t bytes_ = 0;
  // Not below the largest request since the queue was last empty, so that every visit serves at least one.
  uint64_t quantum_ = 0;
};

}  // namespace weir
