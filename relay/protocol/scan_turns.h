// ScanTurns: bounds how many scans of an address go on at once after their first slice was not enough.
//
// The others wait, and keep nothing meanwhile but a key. So the memory of an address's scans is bounded, and of 160
// counts each is answered in its turn instead of all of them at the very end.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace weir {

class ScanTurns {
 public:
  static constexpr size_t kMostAtOnce = 4;

  // A turn that a scan has, or waits for. Destroying it gives it back, or gives it up. The ScanTurns outlives it.
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
    std::function<void()> on_turn_;  // protected by turns_.mutex_; null once it has its turn
  };

  // Returns null if others have all turns.
  std::unique_ptr<Place> TryEnter(uint64_t group);
  // Calls `on_turn` when the turn has come, on the thread that gives a turn back or at once: it should only hand over.
  // It is not called once the place is destroyed.
  std::unique_ptr<Place> Enter(uint64_t group, std::function<void()> on_turn);
  size_t waiting() const;

 private:
  struct Line {
    size_t running = 0;
    std::deque<Place*> waiting;
  };
  void Leave(Place& place);

  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Line> lines_;
};

}  // namespace weir
