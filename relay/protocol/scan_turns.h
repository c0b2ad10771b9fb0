// ScanTurns: limits how many long scans of one client address run at once. A scan is long if its first slice
// (request.h) does not finish it. A long scan needs a turn: a slot that it holds while it runs. Each address has four
// turns. While other scans of the address have all four, a scan waits, and keeps only the key from which it can
// continue.
//
// This limits the memory of an address's scans. Also, if a client asks for 160 counts, it gets the answers one after
// the other instead of all at the end.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>

#include "config/mutex.h"

namespace weir {

class ScanTurns {
 public:
  static constexpr size_t kMostAtOnce = 4;  // turns of each address

  // Place: the turn that a scan has or waits for. The destructor ends the wait, or passes the turn to the scan of the
  // same address that has waited longest. The ScanTurns must outlive its places.
  class Place {
   public:
    ~Place() { turns_.Leave(*this); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    friend class ScanTurns;
    Place(ScanTurns& turns, uint64_t group, std::function<void()> on_turn)
        : turns_(turns), group_(group), on_turn_(std::move(on_turn)) {}

    ScanTurns& turns_;
    const uint64_t group_;
    // Null once the scan has its turn. turns_.mutex_ protects it. It is not annotated, because the analysis does not
    // see that the functions of ScanTurns lock that mutex.
    std::function<void()> on_turn_;
  };

  // Returns a place that has a turn, or null if other scans of the address have all turns. `group` stands for the
  // address (GroupOf in throttle/admission.h).
  std::unique_ptr<Place> TryEnter(uint64_t group);
  // Returns a place that has a turn or waits for one. Calls `on_turn` once, when the place has its turn: before Enter
  // returns if a turn is free, otherwise later, on the thread that destroys another scan's place. Never calls it after
  // the place is destroyed. `on_turn` runs under the mutex of this object, so it must not use this object or a place;
  // it should only post to another thread.
  std::unique_ptr<Place> Enter(uint64_t group, std::function<void()> on_turn);
  // Returns the number of scans of all addresses that wait for a turn.
  size_t waiting() const;

 private:
  // The scans of one address.
  struct Line {
    size_t running = 0;  // scans that have a turn
    std::deque<Place*> waiting;
  };
  void Leave(Place& place);

  mutable Mutex mutex_;
  std::unordered_map<uint64_t, Line> lines_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
