// ChunkLine: chunks that are judged in any order, and taken in the order in which they entered.
//
// Threads: Enter and Flush from one thread, Judged from any, the rest from the thread that takes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "config/clock.h"
#include "import/line_judge.h"

namespace weir {

struct BatchLimits {
  size_t max_events = 2000;
  size_t max_bytes = 4 << 20;
  Duration linger{};
};

class ChunkLine {
 public:
  // Returns a place in the line. Judged puts the chunk there.
  uint64_t Enter();
  void Judged(uint64_t place, JudgedChunk chunk);
  // Lets the chunks that are in the line now go without waiting for others.
  void Flush();
  void Stop();

  // Returns the next chunks, at least one. Chunks without events are returned at once, others as soon as the limits are
  // reached, they are flushed, or `linger` is over. Blocks; returns an empty list after Stop.
  std::vector<JudgedChunk> TakeBatch(const BatchLimits& limits);

 private:
  // The judged chunks at the front that go together.
  struct Front {
    size_t chunks = 0;
    size_t events = 0;
    bool full = false;
  };

  Front FrontOf(const BatchLimits& limits) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::optional<JudgedChunk>> slots_;
  uint64_t first_ = 0;        // place of the front
  uint64_t flush_until_ = 0;  // the first place that was not flushed
  bool stopping_ = false;
};

}  // namespace weir
