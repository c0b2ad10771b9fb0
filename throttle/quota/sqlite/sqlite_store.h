// The store "sqlite:PATH": usage in a SQLite file that the processes of one machine share.
//
// Every decision is one transaction (BEGIN IMMEDIATE), so that no count is lost and nothing is oversold. WAL, 5 s
// busy timeout, synchronous=NORMAL: a crash of the program loses nothing, one of the machine perhaps the last moment.
// The published program's file (the tables quotas, requests, tokens and daily) and those of earlier versions are
// brought to weir's own form when they are opened; negative counts there count as 0, and a negative quota is refused,
// also one that is written later. From then on requests, tokens and daily can be read, and are written by weir alone; a
// process of an earlier version that has the file open can decide nothing more, and says so. A file with tables of
// these names and other columns is refused.
//
// A call waits for the disk and for the other calls and processes, busy_timeout at most: Pace::kBlocks. A file that
// stays locked for longer, is full, damaged or removed: kStoreUnavailable, with the reason; nothing was charged. For a
// second after a call has waited in vain the others wait no longer than 100 ms (the breaker of Health).
#pragma once

#include <memory>
#include <string>

#include "throttle/quota/quota_store.h"

namespace weir {

struct SqliteStoreOptions {
  std::chrono::milliseconds busy_timeout{5000};
  size_t max_models = 100'000;
  size_t max_tier_keys = 1'000'000;
  size_t max_named_ended = kMostNamedEnded;  // of a model
  size_t max_file_bytes = size_t{1} << 30;   // beyond that windows are coarser (window_log.h)
  bool must_exist = false;                   // otherwise the file and its directory are made where there are none
};

Result<std::unique_ptr<QuotaStore>> OpenSqliteQuotaStore(const std::string& path, SqliteStoreOptions options = {},
                                                         const WallClock& clock = WallClock::System());

}  // namespace weir
