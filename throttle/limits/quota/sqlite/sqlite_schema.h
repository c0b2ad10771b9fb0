// The tables of a SQLite quota file, and the conversion of files of earlier forms. The published program
// (sqlite_store.h) has the tables quotas, requests, tokens and daily. In weir's form, quotas is a table, too, and the
// other three are views, for programs that read them.
#pragma once

#include "config/status.h"
#include "throttle/limits/quota/sqlite/sqlite_database.h"

namespace weir {

// The version of the file's form (PRAGMA user_version).
inline constexpr int kSqliteSchemaVersion = 6;

// Makes the tables that are missing, and converts an earlier form. Returns an error for a file of an unknown program,
// for one of a newer version of weir, and for one with a negative quota. Does not change such a file. `patience` is how
// long the function keeps trying while other processes keep the file locked. `now` is the time of the store's clock in
// nanoseconds since 1970.
Status PrepareSqliteSchema(SqliteDatabase& database, std::chrono::milliseconds patience, int64_t now);

}  // namespace weir
