// SqliteDatabase: a connection to a SQLite file. SqliteQuery, SqliteRows and SqliteTransaction: its prepared queries,
// their rows, and its transactions. All of these share one error: the connection keeps its first failure, as a sentence
// for a person, and from then on queries have no rows. So a caller checks only once, at the end:
//
//   SqliteTransaction transaction(database);
//   SqliteRows row = select("gpt-4o");
//   const int64_t count = row.Next() ? row.Int(0) : 0;
//   update.Run("gpt-4o", count + 1);
//   if (!transaction.Commit()) return database.problem();
//
// Private to the SQLite store. Threads: one at a time.
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
  // Opens a file. Makes the file and its directory if they are missing, unless `must_exist`. `busy_timeout` is how long
  // a transaction waits for other processes (SetPatience).
  static Result<std::unique_ptr<SqliteDatabase>> Open(const std::string& path, std::chrono::milliseconds busy_timeout,
                                                      bool must_exist = false);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  const std::string& path() const { return path_; }
  bool ok() const { return problem_.empty(); }
  const std::string& problem() const { return problem_; }  // the first failure since ForgetProblem; empty: none
  bool was_busy() const { return was_busy_; }              // the failure was that another process kept the file locked
  void ForgetProblem();                                    // SqliteTransaction does this when it begins
  // Notes a failure because of what is in the file, as if a query had failed. The file is not changed.
  void Refuse(const std::string& why);
  // From now on a transaction waits up to `left` for other processes. `of` is the caller's whole patience, for the text
  // of the problem.
  void SetPatience(std::chrono::milliseconds left, std::chrono::milliseconds of);

  void Execute(const std::string& sql);  // any number of statements
  int64_t last_id() const;               // id of the row that was inserted last
  int64_t changes() const;               // rows that were changed since the connection was opened

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
  std::unique_ptr<SqliteQuery> begin_;  // prepared once, because each decision is a transaction
  std::unique_ptr<SqliteQuery> commit_;
  std::string problem_;
  bool was_busy_ = false;
};

// SqliteRows: the rows of a query that runs. The query can be run again once this object is destroyed.
class SqliteRows {
 public:
  SqliteRows(SqliteDatabase& database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}
  ~SqliteRows();
  SqliteRows(const SqliteRows&) = delete;
  SqliteRows& operator=(const SqliteRows&) = delete;

  // Steps to the next row; the first call steps to the first row. Returns false if there is none, or if the database
  // has failed.
  bool Next();
  // The columns of the current row, counted from 0. NULL reads as 0, or as an empty text.
  int64_t Int(int column) const;
  std::string_view Text(int column) const;  // valid until the next call of Next
  bool IsNull(int column) const;

 private:
  SqliteDatabase& database_;
  sqlite3_stmt* statement_;
};

// SqliteQuery: a prepared query. If it cannot be prepared, the database fails.
class SqliteQuery {
 public:
  SqliteQuery(SqliteDatabase& database, const std::string& sql);
  ~SqliteQuery();
  SqliteQuery(const SqliteQuery&) = delete;
  SqliteQuery& operator=(const SqliteQuery&) = delete;

  // Binds the values to ?1, ?2, …, and returns the rows. Texts must live until the rows are destroyed. SqliteRows::Next
  // runs the query.
  template <typename... Values>
  SqliteRows operator()(const Values&... values) {
    [[maybe_unused]] int index = 0;  // unused without values
    (Bind(++index, values), ...);
    return SqliteRows(database_, statement_);
  }
  // Runs the query to its end, and drops its rows.
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

// SqliteTransaction: from its construction to its destruction no other process decides. Without a Commit it changes
// nothing. The constructor forgets an earlier problem, and may wait for other processes; if the constructor fails,
// queries have no rows.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteDatabase& database);
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;

  // Returns false if the transaction or a query within it has failed; SqliteDatabase::problem says why.
  bool Commit();

 private:
  SqliteDatabase& database_;
};

}  // namespace weir
