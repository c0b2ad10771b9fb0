// Migration: copies the database of a data directory into a PostgreSQL: the marks of deletions, the events in their
// order of arrival, and the marks of vanished authors; then compares.
//
// The place that it has come to is noted in the PostgreSQL. So a migration that was interrupted goes on, and one that
// is done copies what came since and removes what went since.
#pragma once

#include <cstdint>
#include <functional>

#include "config/status.h"
#include "relay/storage/storage.h"
#include "relay/store/store_compare.h"

namespace weir {

struct MigrationProgress {
  uint64_t events = 0;   // read by this run
  uint64_t saved = 0;    // events that this run saved
  uint64_t present = 0;  // events that were there already
  uint64_t dropped = 0;  // events that expired, or that events in the PostgreSQL replace, delete or make vanish
  uint64_t marks = 0;    // all marks that there are
};

struct MigrationOptions {
  uint64_t now_seconds = 0;
  bool from_the_beginning = false;                                 // not from the place of the last one
  size_t examples = 5;                                             // for each kind of difference
  std::function<void(const MigrationProgress&)> on_progress = {};  // called after each write
};

// The events pass the write gate of `to` as bulk work. `to` has to be on a PostgreSQL. Events that others saved there
// stay, unless a mark names them.
Result<MigrationProgress> CopyAll(const RocksDbStore& from, Storage& to, const MigrationOptions& options);
// Checks that all of it is there. The PostgreSQL may have more, from relays that save there already.
Result<CheckReport> CompareWith(const RocksDbStore& from, Storage& to, const MigrationOptions& options);

}  // namespace weir
