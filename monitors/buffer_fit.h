// BufferFit: decides whether the write buffers of all column families fit into one limit at which the engine stops all
// writers (shared_buffers.h), how many of them may be flushed together, and in which steps they take memory. A full
// write buffer that waits to be flushed together with others uses the memory, but the engine does not count it when it
// decides to flush.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "config/status.h"

namespace weir {

struct FamilyBuffers {
  uint64_t buffer_bytes = 0;   // size of one write buffer
  int given_per_flush = 1;     // how many full buffers a flush merges, as the program set it
  int wanted_per_flush = 1;    // how many weir would merge
  uint64_t history_bytes = 0;  // flushed buffers that are kept for transactions
};

struct BufferFit {
  // The largest number of buffers that a flush may merge: with it, all buffers that wait for others fit into the last
  // eighth of the limit. A program's own, larger number stays.
  int most_per_flush = std::numeric_limits<int>::max();
  // The bytes by which a buffer takes memory; 0: as the engine would. One block of every family takes at most a
  // sixteenth of the limit. With RocksDB's 512 KiB, eight families took 4 of 12 MiB almost at once, and it stopped
  // writers for 10 % of the time at a steady 7 MB/s; with 64 KiB it did not stop them at all.
  uint64_t block_bytes = 0;

  bool operator==(const BufferFit&) const = default;
};

// Returns how the buffers fit. Returns an error that names the figures if the buffers that wait by the program's own
// numbers, together with the history, may take more than half of the limit: the engine would stop writers and start no
// flush.
Result<BufferFit> FitBuffers(uint64_t limit_bytes, const std::vector<FamilyBuffers>& families);

}  // namespace weir
