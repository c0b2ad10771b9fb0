// ChunkLine: a queue of chunks (import/input/chunk.h). Several threads judge the chunks (line_judge.h) and finish in
// any order; one thread takes the chunks out in the order in which they entered.
//
// Threads: one thread at a time calls Enter and Flush, one thread calls TakeBatch, and any thread may call Judged and
// Stop.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "import/line_judge.h"

namespace weir {

// Limits for the chunks that TakeBatch returns together. TakeBatch divides no chunk, so a chunk that it returns alone
// may exceed them.
struct BatchLimits {
  size_t max_events = 2000;
  size_t max_bytes = 4 << 20;  // bytes of text
  Duration linger{};           // longest time for which a chunk with events waits for further chunks
};

class ChunkLine {
 public:
  // Adds a place for a chunk at the end of the queue, and returns its number.
  uint64_t Enter();
  // Puts a judged chunk into its place, which Enter returned. Does nothing after Stop.
  void Judged(uint64_t place, JudgedChunk chunk);
  // Lets TakeBatch return the chunks that are in the queue now, as soon as they are judged, without waiting for later
  // ones.
  void Flush();
  // Drops all chunks and makes TakeBatch return.
  void Stop();

  // Blocks until the chunk at the front is judged, and returns this chunk and judged chunks behind it, at most as many
  // as the limits allow. If the chunks at the front have no events, returns only these, at once. Otherwise waits until
  // the limits are reached, until all chunks that the last Flush covers are judged, or for `linger`. Returns an empty
  // list after Stop.
  std::vector<JudgedChunk> TakeBatch(const BatchLimits& limits);

 private:
  // The judged chunks at the front that TakeBatch would return together.
  struct Front {
    size_t chunks = 0;
    size_t events = 0;
    bool full = false;  // true if the limits are reached
  };

  Front FrontOf(const BatchLimits& limits) const WEIR_REQUIRES(mutex_);

  Mutex mutex_;
  Condition changed_;
  std::deque<std::optional<JudgedChunk>> slots_ WEIR_GUARDED_BY(mutex_);  // nullopt: not judged yet
  uint64_t first_ WEIR_GUARDED_BY(mutex_) = 0;                            // place of slots_.front()
  uint64_t flush_until_ WEIR_GUARDED_BY(mutex_) = 0;  // the last Flush covers the places before this one
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir
