// SettledChunk: the result of a chunk of an import (import/input/chunk.h). A chunk is settled when each of its lines
// has an outcome and its events are stored: in a relay as durably as WEIR_DB_SYNC says, otherwise on disk. (A dry run
// stores no events.)
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
  uint64_t line = 0;  // number of the line in its input, from 1
  size_t begin = 0;   // offset of the line in the chunk's text
  size_t size = 0;    // number of the line's bytes in this chunk, without line feed
  LineOutcome outcome = LineOutcome::kInvalid;
  std::string reason;  // one line for people: "the signature is not its author's"
};

// A line that is too long has chunks of its own. Its Reject and its count in the tally are in the first of them.
struct SettledChunk {
  Chunk chunk;
  Tally tally;
  std::vector<Reject> rejects;  // in the order of the lines
};

// The state of an import, for displays.
struct ImportConditions {
  double level = 0;           // load of the engine for bulk work; at 1.0 the engine brakes (monitors/load_sample.h)
  std::string limiting;       // why the last write waited: a signal, "emergency", …; empty: it did not wait
  Duration delay{};           // how long the last write waited for permission
  Duration latency{};         // how long the last write took
  uint64_t throttled = 0;     // number of writes that had to wait for permission
  Duration throttled_time{};  // sum of their waits
  std::string problem;        // why nothing can be stored at present ("No space left on device …"); empty: no problem
};

}  // namespace weir
