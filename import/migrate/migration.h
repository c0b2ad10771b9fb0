// Copies the database of a data directory (RocksDB) into a PostgreSQL database: the marks of deletions, the events in
// the order in which the relay received them, then the marks of vanished authors (NIP-62). A mark is a record that the
// store keeps so that it does not store a deleted event again. CompareWith compares the two databases.
//
// The PostgreSQL database records the place that the copy has reached. So a run after an interruption continues there.
// A run after a complete copy copies the events that were saved since then, and removes those that were deleted or
// replaced since.
#pragma once

#include <cstdint>
#include <functional>

#include "config/status.h"
#include "relay/store/storage/storage.h"
#include "relay/store/store_compare.h"

namespace weir {

struct MigrationProgress {
  uint64_t events = 0;   // events that this run has read
  uint64_t saved = 0;    // events that this run has saved
  uint64_t present = 0;  // events that PostgreSQL had already
  uint64_t dropped = 0;  // events that expired, or that PostgreSQL refused as replaced, deleted or vanished
  uint64_t marks = 0;    // marks that this run has copied; each run copies all marks
};

struct MigrationOptions {
  uint64_t now_seconds = 0;         // the present time, for expirations
  bool from_the_beginning = false;  // true: begins at the first event; false: where the last run ended
  size_t examples = 5;              // the most examples that CompareWith reports of each kind of difference
  std::function<void(const MigrationProgress&)> on_progress = {};  // called by CopyAll after each write
};

// Copies marks and events, and returns the counts, or the error that ended the copy. Blocks. `to` must be on
// PostgreSQL; its limiter treats the writes as bulk work. Events that other programs saved in `to` stay, unless a mark
// applies to them or a copied event replaces or deletes them.
Result<MigrationProgress> CopyAll(const RocksDbStore& from, Storage& to, const MigrationOptions& options);
// Checks that `to` has each mark of `from`, and each event of `from` except those that `to` would refuse to save now.
// `to` may have more events, which relays saved there.
Result<CheckReport> CompareWith(const RocksDbStore& from, Storage& to, const MigrationOptions& options);

}  // namespace weir
