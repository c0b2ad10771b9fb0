// WritePath: the queue through which all writes enter the simulated engine, one after the other, at the speed that the
// plant allows. When the engine brakes, all writes in the queue wait, whichever of them caused it, as in RocksDB.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "bench/simulator/plant.h"

namespace weir {

class WritePath {
 public:
  WritePath(Plant& plant, TimePoint start) : plant_(plant), now_(start) {}

  void Push(double bytes, std::function<void()> done) { queue_.push_back({bytes, bytes, std::move(done)}); }

  // Advances the write at the front with the plant's present speed. Call it before Plant::AdvanceTo, because until
  // `now` the plant has this speed.
  void AdvanceTo(TimePoint now) {
    if (now <= now_) return;
    if (!queue_.empty()) queue_.front().left -= plant_.WriteBytesPerSecond() * ToSeconds(now - now_);
    now_ = now;
  }

  void CompleteDue() {
    while (!queue_.empty() && queue_.front().left <= 0) {
      const Item item = std::move(queue_.front());
      queue_.pop_front();
      plant_.Write(item.bytes);
      item.done();
    }
  }

  TimePoint NextCompletion() const {
    const double speed = plant_.WriteBytesPerSecond();
    if (queue_.empty() || speed <= 0) return TimePoint::max();
    return now_ + FromSeconds(queue_.front().left / speed) + std::chrono::nanoseconds(1);
  }

 private:
  struct Item {
    double bytes;
    double left;
    std::function<void()> done;
  };

  Plant& plant_;
  TimePoint now_;
  std::deque<Item> queue_;
};

}  // namespace weir
