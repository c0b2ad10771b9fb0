// The tables of a quota file, and how a file of an earlier form is brought to this one. The published program's tables
// are quotas, requests, tokens and daily. Of these quotas is one here too; the others are views, for those who read
// them.
#pragma once

#include "config/status.h"
#include "throttle/quota/sqlite/sqlite_database.h"

namespace weir {

// PRAGMA user_version.
inline constexpr int kSqliteSchemaVersion = 6;

// Makes what is missing. A file of another program or of a newer version is refused, and stays as it was. `now` is that
// of the store's clock.
Status PrepareSqliteSchema(SqliteDatabase& database, std::chrono::milliseconds patience, int64_t now);

}  // namespace weir
