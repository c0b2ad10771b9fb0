// The report on a chunk: every line of it has its outcome, and what was taken is on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/clock.h"
#include "import/input/chunk.h"
#include "import/tally.h"

namespace weir {

struct Reject {
  uint64_t line = 0;  // counted from 1, in its input
  size_t begin = 0;   // its text in the chunk, without line feed
  size_t size = 0;
  LineOutcome outcome = LineOutcome::kInvalid;
  std::string reason;  // for people, on one line: "the signature is not its author's"
};

// If a line is too long, its first piece has the Reject and the count, and the others have none.
struct SettledChunk {
  Chunk chunk;
  Tally tally;
  std::vector<Reject> rejects;  // in the order of the lines
};

// The state of an import, for displays.
struct ImportConditions {
  double level = 0;        // the engine's, as bulk work sees it; 1.0: it would brake
  std::string limiting;    // cause of the last admission's wait: a signal, "emergency", …; empty: none
  Duration delay{};        // the last admission's
  Duration latency{};      // the last write's
  uint64_t throttled = 0;  // admissions that had to wait
  Duration throttled_time{};
  std::string problem;  // why nothing can be stored just now ("No space left on device …"); empty: no problem
};

}  // namespace weir
