// SpaceReturn: decides when the relay compacts what was removed, so that its space comes back.
//
// RocksDB gives the space of removed entries back when it compacts them, and it compacts when more is written. So after
// a large removal, the space would not come back for days on a relay to which little is written. A compaction is due if
// removed entries take a fifth of the database, and have nearly ceased to change, because then neither a removal nor
// RocksDB's own compactions go on. A relay that holds a disk budget removes as much as it saves; there removed entries
// usually take less, since most data are in the deepest level, where they are gone.
//
// Compactions take at most a twentieth of the time, however long one takes.
//
// Threads: not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "config/clock.h"

namespace weir {

class SpaceReturn {
 public:
  static constexpr uint64_t kLeastBytes = 1 << 20;  // less is not worth a compaction
  static constexpr uint64_t kLeastPart = 5;
  static constexpr uint64_t kSteadyPart = 100;  // the bytes are steady if they change by less than this part
  static constexpr int kSteadyLooks = 2;
  static constexpr Duration kLeastPause = std::chrono::minutes(10);
  static constexpr int kPauseForTime = 20;

  // Notes the sizes of the store. Returns true if a compaction is to begin now. The caller calls it once a minute.
  bool IsDue(uint64_t removed_bytes, uint64_t disk_bytes, TimePoint now) {
    const uint64_t before = removed_before_;
    const uint64_t change = std::max(before, removed_bytes) - std::min(before, removed_bytes);
    removed_before_ = removed_bytes;
    steady_looks_ = change <= removed_bytes / kSteadyPart ? steady_looks_ + 1 : 0;
    return removed_bytes >= kLeastBytes && removed_bytes >= disk_bytes / kLeastPart && steady_looks_ >= kSteadyLooks &&
           (!pause_until_ || now >= *pause_until_);
  }
  // Notes a compaction, also one that was ended early.
  void NoteCompaction(TimePoint begin, TimePoint end) {
    pause_until_ = end + std::max(kLeastPause, (end - begin) * kPauseForTime);
    steady_looks_ = 0;
  }

 private:
  uint64_t removed_before_ = 0;
  int steady_looks_ = 0;
  std::optional<TimePoint> pause_until_;
};

}  // namespace weir
