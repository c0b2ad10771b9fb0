// The tables of a quota file, and the conversion of a file of an earlier form. The published program's tables are
// quotas, requests, tokens and daily. Of these, quotas is a table here too; the others are views, for programs that
// read them.
#pragma once

#include "config/status.h"
#include "throttle/quota/sqlite/sqlite_database.h"

namespace weir {

// PRAGMA user_version.
inline constexpr int kSqliteSchemaVersion = 6;

// Makes what is missing. Refuses a file of another program or of a newer version, and leaves it as it was. `now` is the
// time of the store's clock.
Status PrepareSqliteSchema(SqliteDatabase& database, std::chrono::milliseconds patience, int64_t now);

}  // namespace weir
