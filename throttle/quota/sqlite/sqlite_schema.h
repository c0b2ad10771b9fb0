// The tables of a quota file. The published ones are quotas, requests, tokens and daily; what weir adds is called
// weir_… and kept right by triggers, also when a program that knows only the published ones writes.
#pragma once

#include "config/status.h"
#include "throttle/quota/sqlite/sqlite_database.h"

namespace weir {

// Of weir's own tables (PRAGMA user_version).
inline constexpr int kSqliteSchemaVersion = 2;

// In the place of a log's sum: it must be counted anew. More than the most entries of the most amount come to, and one
// amount more still fits into 64 bits: SQLite would go on with a rounded REAL.
inline constexpr int64_t kSqliteUncounted = 9'000'000'000'000'000'000;

// Makes what is missing. A file of another program or of a newer version is refused, and stays as it was.
Status PrepareSqliteSchema(SqliteDatabase& database, std::chrono::milliseconds patience);

}  // namespace weir
