// QueuedEvents: what happened at the endpoints, for programs that watch. It holds up to its capacity of events; those
// that come while it is full are dropped, and counted. No thread waits for it.
//
// Threads: any, on both sides. It is a ring in which each cell says by its turn whether it is to be written or read
// next.
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
  enum class Kind : uint8_t { kQueued, kServed, kRejected };

  Kind kind = Kind::kQueued;
  TimePoint at{};
  std::shared_ptr<const std::string> endpoint;
  Duration waited{};
  uint32_t depth = 0;  // requests in line afterwards
};

class QueuedEvents {
 public:
  // `capacity` is rounded up to a power of two.
  explicit QueuedEvents(size_t capacity = 4096) : cells_(std::bit_ceil(std::max<size_t>(2, capacity))) {
    for (size_t i = 0; i < cells_.size(); ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }

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
  // Takes out the oldest event; nullopt if there is none.
  std::optional<QueuedEvent> Pop() {
    uint64_t at = next_read_.load(std::memory_order_relaxed);
    Cell* cell = Claim(&next_read_, &at, 1);
    if (cell == nullptr) return std::nullopt;
    QueuedEvent event = std::exchange(cell->event, {});
    cell->turn.store(at + cells_.size(), std::memory_order_release);
    return event;
  }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Cell {
    // For event n: n while it is to be written, n + 1 while it is to be read.
    std::atomic<uint64_t> turn;
    QueuedEvent event;
  };

  // Returns null if there is no cell with that turn.
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
