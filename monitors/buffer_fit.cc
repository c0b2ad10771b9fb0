#include "monitors/buffer_fit.h"

#include <algorithm>
#include <string>

namespace weir {
namespace {

constexpr uint64_t kLeastBlock = 4 << 10;  // RocksDB's least, and the step of its sizes

std::string InMebibytes(uint64_t bytes) {
  constexpr uint64_t kMebibyte = uint64_t{1} << 20;
  return std::to_string((bytes + kMebibyte - 1) / kMebibyte) + " MiB";
}

// Returns the bytes of full buffers that wait for others, if a flush merges this many.
uint64_t WaitingBytes(const FamilyBuffers& family, int per_flush) {
  return family.buffer_bytes * static_cast<uint64_t>(std::max(per_flush, family.given_per_flush) - 1);
}

Status StandsForEver(uint64_t limit_bytes, size_t families, uint64_t waiting, uint64_t history) {
  return Status::Error(std::to_string(families) + " column families may keep " + InMebibytes(waiting) +
                       " of full write buffers that wait to be flushed together with others " +
                       "(min_write_buffer_number_to_merge), and " + InMebibytes(history) +
                       " of flushed ones as history (max_write_buffer_size_to_maintain), but their WriteBufferManager "
                       "of " +
                       InMebibytes(limit_bytes) +
                       " stops all writers when it is full (allow_stall) and flushes "
                       "neither: lower these options, or give the manager at least " +
                       InMebibytes(2 * (waiting + history)));
}

}  // namespace

Result<BufferFit> FitBuffers(uint64_t limit_bytes, const std::vector<FamilyBuffers>& families) {
  uint64_t given = 0;
  uint64_t history = 0;
  int most = 1;
  for (const FamilyBuffers& family : families) {
    given += WaitingBytes(family, 1);
    history += family.history_bytes;
    most = std::max(most, family.wanted_per_flush);
  }
  if (given + history > limit_bytes / 2) return StandsForEver(limit_bytes, families.size(), given, history);
  for (; most > 1; --most) {
    uint64_t waiting = history;
    for (const FamilyBuffers& family : families)
      waiting += WaitingBytes(family, std::min(most, family.wanted_per_flush));
    if (waiting <= limit_bytes / 8) break;
  }
  const uint64_t block = limit_bytes / 16 / std::max<uint64_t>(1, families.size());
  return BufferFit{.most_per_flush = most, .block_bytes = std::max(kLeastBlock, block - block % kLeastBlock)};
}

}  // namespace weir
