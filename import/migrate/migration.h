// Copies the database of a data directory (RocksDB) into a PostgreSQL, and compares the two: the marks of deletions,
// the events in their order of arrival, and the marks of vanished authors. A mark is a record that the store keeps so
// that a deleted event is not stored again.
//
// The PostgreSQL keeps the place that the copy has reached. So a second run continues after an interruption; after a
// complete copy it copies the events that came since and removes those that were deleted since.
#pragma once

#include <cstdint>
#include <functional>

#include "config/status.h"
#include "relay/storage/storage.h"
#include "relay/store/store_compare.h"

namespace weir {

struct MigrationProgress {
  uint64_t events = 0;   // events that this run has read
  uint64_t saved = 0;    // events that this run has saved
  uint64_t present = 0;  // events that the PostgreSQL had already
  uint64_t dropped = 0;  // events that expired, or that events in the PostgreSQL replace, delete or make vanish
  uint64_t marks = 0;    // all marks of the source
};

struct MigrationOptions {
  uint64_t now_seconds = 0;         // the time by which events have expired
  bool from_the_beginning = false;  // true: begins at the first event, not at the place of the last run
  size_t examples = 5;              // most examples of each kind of difference in the report of CompareWith
  std::function<void(const MigrationProgress&)> on_progress = {};  // called in the same thread after each write
};

// Copies everything and returns the counts, or an error that ended the copy. Blocks. The limiter of `to` treats the
// writes as bulk work. `to` must be on a PostgreSQL. Events that other programs saved there stay, unless a mark names
// them.
Result<MigrationProgress> CopyAll(const RocksDbStore& from, Storage& to, const MigrationOptions& options);
// Checks that `to` has everything that `from` has. `to` may have more, from relays that save there already.
Result<CheckReport> CompareWith(const RocksDbStore& from, Storage& to, const MigrationOptions& options);

}  // namespace weir
