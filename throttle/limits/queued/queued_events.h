// QueuedEvents: a queue of events at the endpoints of a QueuedLimiter, for programs that monitor them. The queue stores
// up to `capacity` events. If it is full, a new event is dropped and counted. No thread waits.
//
// Threads: any number of threads may push and pop at the same time. The queue is a ring buffer, in which each cell has
// a sequence number that says whether the cell has to be written or read next.
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
  // kQueued: a request entered the queue. There is no such event for a request that is answered at once, and for a
  // request that first waits outside (EndpointConfig::Overflow) only when it enters.
  enum class Kind : uint8_t { kQueued, kServed, kRejected };

  Kind kind = Kind::kQueued;
  TimePoint at{};
  std::shared_ptr<const std::string> endpoint;  // the path of the endpoint
  Duration waited{};                            // how long the request had waited at the time of the event
  uint32_t depth = 0;                           // requests that wait at the endpoint after the event
};

class QueuedEvents {
 public:
  // `capacity` is raised to at least 2, and rounded up to a power of two.
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
  // Removes and returns the oldest event. Returns nullopt if there is no event.
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
    // The sequence number: n if event n can be written into the cell, n + 1 if event n can be read from it.
    std::atomic<uint64_t> turn;
    QueuedEvent event;
  };

  // Claims and returns the cell of the next event, to write the event (`turn` is 0) or to read it (`turn` is 1), and
  // sets *at to the number of the event. Returns null if there is no room to write, or no event to read.
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
