// The store "sqlite:PATH": usage in a SQLite file that the processes of one machine share.
//
// Every decision is one transaction (BEGIN IMMEDIATE), so that no count is lost and nothing is oversold. WAL, 5 s busy
// timeout, synchronous=NORMAL: a crash of the program loses nothing, a crash of the machine perhaps the last moment.
// The published program's file (the tables quotas, requests, tokens and daily) and those of earlier versions are
// converted to weir's own form when they are opened; negative counts there count as 0, and a negative quota is refused,
// even one that is written later. From then on requests, tokens and daily can be read, and only weir writes them; a
// process of an earlier version that has the file open can decide nothing more, and says so. A file with tables of
// these names and other columns is refused.
//
// A call waits for the disk and for the other calls and processes, busy_timeout at most: Pace::kBlocks. If the file
// stays locked for longer, or is full, damaged or removed, the answer is kStoreUnavailable, with the reason, and
// nothing was charged. For a second after a call has waited in vain, the others wait no longer than 100 ms (the breaker
// of Health).
#pragma once

#include <memory>
#include <string>

#include "throttle/quota/quota_store.h"

namespace weir {

struct SqliteStoreOptions {
  std::chrono::milliseconds busy_timeout{5000};
  size_t max_models = 100'000;
  size_t max_tier_keys = 1'000'000;
  size_t max_named_ended = kMostNamedEnded;  // per model
  size_t max_file_bytes = size_t{1} << 30;   // beyond that windows are coarser (window_log.h)
  bool must_exist = false;                   // otherwise a missing file and its directory are made
};

Result<std::unique_ptr<QuotaStore>> OpenSqliteQuotaStore(const std::string& path, SqliteStoreOptions options = {},
                                                         const WallClock& clock = WallClock::System());

}  // namespace weir
