// QueuedEvents: a queue of events at the endpoints of a QueuedLimiter, for programs that watch them. It holds up to
// `capacity` events; an event that comes while the queue is full is dropped and counted. No thread waits.
//
// Threads: any number may push and pop at the same time. The queue is a ring; each cell has a number that says whether
// it has to be written or read next.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/clock.h"

namespace weir {

struct QueuedEvent {
  // kQueued: a request entered the queue. A request that is answered at once does not cause this event.
  enum class Kind : uint8_t { kQueued, kServed, kRejected };

  Kind kind = Kind::kQueued;
  TimePoint at{};
  std::shared_ptr<const std::string> endpoint;  // the path of the endpoint
  Duration waited{};                            // how long the request has waited by then
  uint32_t depth = 0;                           // requests in line at the endpoint afterwards
};

class QueuedEvents {
 public:
  // `capacity` is at least 2, and is rounded up to a power of two.
  explicit QueuedEvents(size_t capacity = 4096) : cells_(std::bit_ceil(std::max<size_t>(2, capacity))) {
    for (size_t i = 0; i < cells_.size(); ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }

  // Adds an event, or drops it if the queue is full.
  void Push(QueuedEvent event) {
    uint64_t at = next_write_.load(std::memory_order_relaxed);
    Cell* cell = Claim(&next_write_, &at, 0);
    if (cell == nullptr) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    cell->event = std::move(event);
    cell->turn.store(at + 1, std::memory_order_release);
  }
  // Takes out the oldest event; returns nullopt if there is none.
  std::optional<QueuedEvent> Pop() {
    uint64_t at = next_read_.load(std::memory_order_relaxed);
    Cell* cell = Claim(&next_read_, &at, 1);
    if (cell == nullptr) return std::nullopt;
    QueuedEvent event = std::exchange(cell->event, {});
    cell->turn.store(at + cells_.size(), std::memory_order_release);
    return event;
  }
  // Returns how many events were dropped.
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Cell {
    // For event n: n while the cell waits to be written, n + 1 while it waits to be read.
    std::atomic<uint64_t> turn;
    QueuedEvent event;
  };

  // Claims the next cell and returns it; returns null if that cell is not in the state `turn` (0: to be written, 1: to
  // be read).
  Cell* Claim(std::atomic<uint64_t>* next, uint64_t* at, uint64_t turn) {
    for (;;) {
      Cell& cell = cells_[*at & (cells_.size() - 1)];
      const auto behind = static_cast<int64_t>(cell.turn.load(std::memory_order_acquire) - (*at + turn));
      if (behind < 0) return nullptr;
      if (behind > 0) {
        *at = next->load(std::memory_order_relaxed);
      } else if (next->compare_exchange_weak(*at, *at + 1, std::memory_order_relaxed)) {
        return &cell;
      }
    }
  }

  std::vector<Cell> cells_;
  alignas(64) std::atomic<uint64_t> next_write_{0};
  alignas(64) std::atomic<uint64_t> next_read_{0};
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace weir
