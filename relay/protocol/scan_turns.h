// ScanTurns: how many scans of an address go on at once once their first slice was not enough.
//
// The others wait, and keep nothing meanwhile but a key: so what scans hold is bounded for an address, and of 160
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

  // A turn that somebody has, or waits for. Given back, or given up, where it is destroyed; the turns outlive it.
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
    std::function<void()> on_turn_;  // under the lock of the turns; null once it has its turn
  };

  // Null where others have all turns.
  std::unique_ptr<Place> TryEnter(uint64_t group);
  // `on_turn` is called when the turn has come, by whoever gives one back or here and now: it should only hand over. It
  // is not called once the place is destroyed.
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
