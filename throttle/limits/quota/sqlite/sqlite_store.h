// OpenSqliteQuotaStore: opens the QuotaStore (quota_store.h) "sqlite:PATH". It counts in a SQLite file that the
// processes of one machine can share.
//
// Every decision is one transaction (BEGIN IMMEDIATE), so no usage is lost and no limit is exceeded. The file uses WAL,
// a busy timeout of 5 s, and synchronous=NORMAL: if the program crashes, nothing is lost; if the machine crashes, the
// last moments may be lost.
//
// The "published program" is another program, whose quota files weir can use. They have the tables quotas, requests,
// tokens and daily. When weir opens such a file, or a file of an earlier version of weir, it converts the file to its
// own form. Negative counts in the file count as 0; a negative quota is an error, even one that is written later. After
// the conversion other programs can still read requests, tokens and daily, but only weir writes them. A process of an
// earlier version of weir that still has the file open gets an error for every decision. A file that has tables with
// these names but with other columns is refused.
//
// A call waits for the disk and for other calls and processes, at most busy_timeout (Pace::kBlocks). If the file stays
// locked for longer, or is full, damaged or removed, the answer is kStoreUnavailable, with the reason, and nothing is
// charged. After a call has waited in vain, other calls wait at most 100 ms each for one second (StoreHealth::breaker).
#pragma once

#include <memory>
#include <string>

#include "throttle/limits/quota/quota_store.h"

namespace weir {

struct SqliteStoreOptions {
  std::chrono::milliseconds busy_timeout{5000};
  size_t max_models = 100'000;               // models without a quota; a model with a quota always has room
  size_t max_tier_keys = 1'000'000;          // counters of tiers
  size_t max_named_ended = kMostNamedEnded;  // ends of named reservations that are remembered for each model
  size_t max_file_bytes = size_t{1} << 30;   // if the file is larger, windows merge more entries (window_log.h)
  bool must_exist = false;                   // false: the store makes a missing file and its directory
};

// Opens the store. The error says why the file cannot be used. `clock` must outlive the store.
Result<std::unique_ptr<QuotaStore>> OpenSqliteQuotaStore(const std::string& path, SqliteStoreOptions options = {},
                                                         const WallClock& clock = WallClock::System());

}  // namespace weir
