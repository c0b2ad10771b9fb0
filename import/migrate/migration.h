// Copies the database of a data directory (RocksDB) into a PostgreSQL database: the marks of deletions, the events in
// their order of arrival, then the marks of vanished authors. A mark is a record that the store keeps so that a deleted
// event is not stored again. Another function compares the two databases.
//
// The PostgreSQL database keeps the place that the copy has reached. So a second run continues after an interruption;
// after a complete copy, a second run copies the events that came since and removes those that were deleted since.
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
  uint64_t present = 0;  // events that PostgreSQL had already
  uint64_t dropped = 0;  // events that expired, or that events in PostgreSQL replace, delete or make vanish
  uint64_t marks = 0;    // all marks of the source
};

struct MigrationOptions {
  uint64_t now_seconds = 0;         // the present time, for expirations
  bool from_the_beginning = false;  // true: begins at the first event, not at the place of the last run
  size_t examples = 5;              // most examples of each kind of difference (CompareWith)
  std::function<void(const MigrationProgress&)> on_progress = {};  // called by CopyAll after each write
};

// Copies everything and returns the counts, or an error that ended the copy. Blocks. The limiter of `to` treats the
// writes as bulk work. `to` must be on PostgreSQL. Events that other programs saved there stay, unless a mark names
// them or a copied event replaces or deletes them.
Result<MigrationProgress> CopyAll(const RocksDbStore& from, Storage& to, const MigrationOptions& options);
// Checks that `to` has each mark of `from`, and each event of `from` that it would still save. `to` may have more
// events, from its relays.
Result<CheckReport> CompareWith(const RocksDbStore& from, Storage& to, const MigrationOptions& options);

}  // namespace weir
