// Migration: copies a database of a data directory into a PostgreSQL: the marks of what was deleted, the events in
// their order of arrival, the marks of who vanished; then it compares.
//
// Where it was is noted in the PostgreSQL, so that a migration that was interrupted goes on, and one that is done
// copies what came since and removes what went since.
#pragma once

#include <cstdint>
#include <functional>

#include "config/status.h"
#include "relay/storage/storage.h"
#include "relay/store/store_compare.h"

namespace weir {

struct MigrationProgress {
  uint64_t events = 0;   // read by this run
  uint64_t saved = 0;    // of these
  uint64_t present = 0;  // there already
  uint64_t dropped = 0;  // expired, or replaced, deleted or vanished by what the PostgreSQL has
  uint64_t marks = 0;    // that there are
};

struct MigrationOptions {
  uint64_t now_seconds = 0;
  bool from_the_beginning = false;                                 // rather than from where the last one was
  size_t examples = 5;                                             // of each kind of difference
  std::function<void(const MigrationProgress&)> on_progress = {};  // after each write
};

// The events pass the write gate of `to` as bulk work. `to` has to be on a PostgreSQL. What others saved there stays,
// unless a mark names it.
Result<MigrationProgress> CopyAll(const RocksDbStore& from, Storage& to, const MigrationOptions& options);
// Whether all of it is there. The PostgreSQL may have more, of relays that save there already.
Result<CheckReport> CompareWith(const RocksDbStore& from, Storage& to, const MigrationOptions& options);

}  // namespace weir
