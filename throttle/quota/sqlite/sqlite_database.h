// A connection to a SQLite file, its prepared queries and its transactions, with one error for all: the first failure
// is kept as a sentence for a person, and from then on queries have no rows, so that a caller checks only once, at the
// end.
//
//   SqliteTransaction transaction(database);
//   SqliteRows row = select("gpt-4o");
//   const int64_t count = row.Next() ? row.Int(0) : 0;
//   update.Run("gpt-4o", count + 1);
//   if (!transaction.Commit()) return database.problem();
//
// Private to the store. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "config/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace weir {

class SqliteQuery;

class SqliteDatabase {
 public:
  // Makes the file and its directory if they are missing, unless the file must exist.
  static Result<std::unique_ptr<SqliteDatabase>> Open(const std::string& path, std::chrono::milliseconds busy_timeout,
                                                      bool must_exist = false);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  const std::string& path() const { return path_; }
  bool ok() const { return problem_.empty(); }
  const std::string& problem() const { return problem_; }
  bool was_busy() const { return was_busy_; }
  void ForgetProblem();
  void Refuse(const std::string& why);  // refuses what is in the file, as if a query had failed
  // Sets how long a transaction waits for another process from now on; `of` is the whole time, for the problem's text.
  void SetPatience(std::chrono::milliseconds left, std::chrono::milliseconds of);

  void Execute(const std::string& sql);  // any number of statements
  int64_t last_id() const;
  int64_t changes() const;  // rows changed so far

 private:
  friend class SqliteQuery;
  friend class SqliteRows;
  friend class SqliteTransaction;

  SqliteDatabase(std::string path, std::chrono::milliseconds busy_timeout);
  void Fail(int code);
  void CheckInPlace();
  static int WaitForLock(void* database, int tries);

  std::string path_;
  std::chrono::milliseconds busy_timeout_;
  std::chrono::milliseconds patience_{};
  std::chrono::steady_clock::time_point waits_since_;
  sqlite3* handle_ = nullptr;
  std::unique_ptr<SqliteQuery> begin_;  // prepared once: each decision is a transaction
  std::unique_ptr<SqliteQuery> commit_;
  std::string problem_;
  bool was_busy_ = false;
};

// The rows of a query. The query is free again when this is destroyed.
class SqliteRows {
 public:
  SqliteRows(SqliteDatabase& database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}
  ~SqliteRows();
  SqliteRows(const SqliteRows&) = delete;
  SqliteRows& operator=(const SqliteRows&) = delete;

  bool Next();
  // Columns of the current row, from 0. NULL is 0 and empty.
  int64_t Int(int column) const;
  std::string_view Text(int column) const;  // valid until Next
  bool IsNull(int column) const;

 private:
  SqliteDatabase& database_;
  sqlite3_stmt* statement_;
};

class SqliteQuery {
 public:
  SqliteQuery(SqliteDatabase& database, const std::string& sql);
  ~SqliteQuery();
  SqliteQuery(const SqliteQuery&) = delete;
  SqliteQuery& operator=(const SqliteQuery&) = delete;

  // Binds the values of ?1, ?2, …; texts must live until the rows are gone.
  template <typename... Values>
  SqliteRows operator()(const Values&... values) {
    [[maybe_unused]] int index = 0;  // unused without values
    (Bind(++index, values), ...);
    return SqliteRows(database_, statement_);
  }
  template <typename... Values>
  void Run(const Values&... values) {
    SqliteRows rows = (*this)(values...);
    while (rows.Next()) {
    }
  }

 private:
  void Bind(int index, int64_t value);
  void Bind(int index, std::string_view value);

  SqliteDatabase& database_;
  sqlite3_stmt* statement_ = nullptr;
};

// Holds the file for writing: no other process decides meanwhile. Without a commit it changes nothing.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteDatabase& database);
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;

  bool Commit();  // false: see SqliteDatabase::problem

 private:
  SqliteDatabase& database_;
};

}  // namespace weir
