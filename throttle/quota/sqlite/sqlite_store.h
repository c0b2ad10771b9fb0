// OpenSqliteQuotaStore: opens the QuotaStore (quota_store.h) "sqlite:PATH", whose counters are in a SQLite file that
// the processes of one machine share.
//
// Every decision is one transaction (BEGIN IMMEDIATE), so that no usage is lost and no limit is exceeded. The file uses
// WAL, a busy timeout of 5 s and synchronous=NORMAL: a crash of the program loses nothing; a crash of the machine may
// lose the last moments.
//
// The published program is another program, whose quota files weir takes over; they have the tables quotas, requests,
// tokens and daily. Such files, and those of earlier versions of weir, are converted to weir's own form when they are
// opened. Negative counts in them count as 0; a negative quota is refused, even one that is written later. After the
// conversion other programs can read requests, tokens and daily, but only weir writes them. A process of an earlier
// version of weir that still has the file open can decide nothing more, and says so. A file with tables of these names
// but other columns is refused.
//
// A call waits for the disk and for other calls and processes, at most busy_timeout (Pace::kBlocks). If the file stays
// locked for longer, or is full, damaged or removed, the answer is kStoreUnavailable, with the reason, and nothing is
// charged. For a second after a call's wait has timed out, other calls wait at most 100 ms (the breaker of Health).
#pragma once

#include <memory>
#include <string>

#include "throttle/quota/quota_store.h"

namespace weir {

struct SqliteStoreOptions {
  std::chrono::milliseconds busy_timeout{5000};
  size_t max_models = 100'000;               // without a quota; a model with a quota always has room
  size_t max_tier_keys = 1'000'000;          // counters of tiers
  size_t max_named_ended = kMostNamedEnded;  // ends of named reservations that are remembered, for each model
  size_t max_file_bytes = size_t{1} << 30;   // in a larger file, windows merge more entries (window_log.h)
  bool must_exist = false;                   // false: a missing file and its directory are made
};

// The error says why the file cannot be used. `clock` must outlive the store.
Result<std::unique_ptr<QuotaStore>> OpenSqliteQuotaStore(const std::string& path, SqliteStoreOptions options = {},
                                                         const WallClock& clock = WallClock::System());

}  // namespace weir
