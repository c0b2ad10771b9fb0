// ChunkLine: a queue of chunks (import/input/chunk.h). Several threads judge them (line_judge.h) and finish in any
// order; one thread takes them out in the order in which they entered.
//
// Threads: one thread calls Enter and Flush, one thread calls TakeBatch, and any thread may call Judged and Stop.
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

// Limits of the chunks that TakeBatch returns together. A chunk is not divided, so a single chunk may exceed them.
struct BatchLimits {
  size_t max_events = 2000;
  size_t max_bytes = 4 << 20;  // bytes of text
  Duration linger{};           // time for which events wait for more
};

class ChunkLine {
 public:
  // Returns a new place at the end of the queue.
  uint64_t Enter();
  // Puts a judged chunk into its place, which Enter returned. Does nothing after Stop.
  void Judged(uint64_t place, JudgedChunk chunk);
  // Lets TakeBatch return the chunks that are in the queue now, without waiting for later ones.
  void Flush();
  // Drops all chunks and makes TakeBatch return.
  void Stop();

  // Blocks until the chunk at the front is judged, and returns this chunk and judged chunks behind it, at most as many
  // as the limits allow. Chunks without events are returned at once; others when the limits are reached, when they are
  // flushed, or after `linger`. Returns an empty list after Stop.
  std::vector<JudgedChunk> TakeBatch(const BatchLimits& limits);

 private:
  // The judged chunks at the front that TakeBatch would return together.
  struct Front {
    size_t chunks = 0;
    size_t events = 0;
    bool full = false;  // true if the limits are reached
  };

  Front FrontOf(const BatchLimits& limits) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::optional<JudgedChunk>> slots_;  // nullopt: not judged yet
  uint64_t first_ = 0;                            // place of the front
  uint64_t flush_until_ = 0;                      // the first place that was not flushed
  bool stopping_ = false;
};

}  // namespace weir
