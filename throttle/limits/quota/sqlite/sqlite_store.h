// OpenSqliteQuotaStore: opens the QuotaStore (quota_store.h) "sqlite:PATH". It counts in a SQLite file that the
// processes of one machine can share.
//
// Every decision is one transaction (BEGIN IMMEDIATE), so processes that decide at the same time cannot lose usage or
// exceed a limit together. The file uses WAL and synchronous=NORMAL: if the program crashes, nothing is lost; if the
// machine crashes, the last moments may be lost.
//
// The "published program" is another program, whose quota files weir can use. They have the tables quotas, requests,
// tokens and daily. When weir opens such a file, or a file of an earlier version of weir, it converts the file to its
// present form (sqlite_schema.h). Negative counts in the file count as 0; a negative quota is an error, even one that
// is written later. After the conversion other programs can still read requests, tokens and daily, but only weir writes
// them. Before the conversion, end all processes of earlier versions that use the file. A process of a version with
// form 1 to 3 would get an error for every decision; one with form 4 or 5 would go on, but would not record what form 6
// adds. A file that has tables with these names but without these columns, or with columns that weir cannot fill, is
// refused.
//
// A call waits for other calls and processes, at most busy_timeout, and for the disk (Pace::kBlocks). If the file stays
// locked for longer, is damaged or was removed, or if the disk is full, the answer is kStoreUnavailable, with the
// reason, and nothing is charged. For one second after a call has waited in vain, each other call waits at most 100 ms
// (StoreHealth::breaker).
#pragma once

#include <memory>
#include <string>

#include "throttle/limits/quota/quota_store.h"

namespace weir {

struct SqliteStoreOptions {
  std::chrono::milliseconds busy_timeout{5000};
  size_t max_models = 100'000;               // models without a quota, as in MemoryStoreOptions
  size_t max_tier_keys = 1'000'000;          // counters of tiers
  size_t max_named_ended = kMostNamedEnded;  // how many ends of named reservations are remembered for each model
  size_t max_file_bytes = size_t{1} << 30;   // if the file is larger, windows merge more entries (window_log.h)
  bool must_exist = false;                   // false: the store makes a missing file and its directory
};

// Opens the store. The error says why the file cannot be used. `clock` must outlive the store.
Result<std::unique_ptr<QuotaStore>> OpenSqliteQuotaStore(const std::string& path, SqliteStoreOptions options = {},
                                                         const WallClock& clock = WallClock::System());

}  // namespace weir
