// SqliteDatabase: a connection to a SQLite file. SqliteQuery, SqliteRows and SqliteTransaction are its prepared
// queries, their rows, and its transactions. The connection keeps its first failure, as a sentence for people. From
// then until the next transaction, queries have no rows. So a caller has to check for failures only once, at the end:
//
//   SqliteTransaction transaction(database);
//   SqliteRows row = select("gpt-4o");
//   const int64_t count = row.Next() ? row.Int(0) : 0;
//   update.Run("gpt-4o", count + 1);
//   if (!transaction.Commit()) return database.problem();
//
// Private to the SQLite store. Not thread-safe.
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
  // Opens a file. Makes the file and its directory if they are missing, unless `must_exist` is true. `busy_timeout` is
  // how long a transaction waits for other processes (SetPatience changes it).
  static Result<std::unique_ptr<SqliteDatabase>> Open(const std::string& path, std::chrono::milliseconds busy_timeout,
                                                      bool must_exist = false);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  const std::string& path() const { return path_; }
  bool ok() const { return problem_.empty(); }
  const std::string& problem() const { return problem_; }  // the first failure since ForgetProblem; empty: none
  bool was_busy() const { return was_busy_; }              // the failure is that another process kept the file locked
  void ForgetProblem();                                    // SqliteTransaction calls it when it begins
  // Records a failure because of the content of the file, as if a query had failed. Does not change the file.
  void Refuse(const std::string& why);
  // From now on a transaction waits up to `left` for other processes. `of` is the whole time that the caller is willing
  // to wait; the text of the problem names it.
  void SetPatience(std::chrono::milliseconds left, std::chrono::milliseconds of);

  void Execute(const std::string& sql);  // may be any number of statements
  int64_t last_id() const;               // the id of the row that was inserted last
  int64_t changes() const;               // the number of rows that were changed since the connection was opened

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

// SqliteRows: the rows of a query that runs. The query must not run again before this object is destroyed.
class SqliteRows {
 public:
  SqliteRows(SqliteDatabase& database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}
  ~SqliteRows();
  SqliteRows(const SqliteRows&) = delete;
  SqliteRows& operator=(const SqliteRows&) = delete;

  // Steps to the next row; the first call steps to the first row. Returns false if there is no such row, or if the
  // database has failed.
  bool Next();
  // Return a column of the current row; the first column is 0. NULL is returned as 0, or as an empty text.
  int64_t Int(int column) const;
  std::string_view Text(int column) const;  // valid until the next call of Next
  bool IsNull(int column) const;

 private:
  SqliteDatabase& database_;
  sqlite3_stmt* statement_;
};

// SqliteQuery: a prepared query. If the query cannot be prepared, the database fails.
class SqliteQuery {
 public:
  SqliteQuery(SqliteDatabase& database, const std::string& sql);
  ~SqliteQuery();
  SqliteQuery(const SqliteQuery&) = delete;
  SqliteQuery& operator=(const SqliteQuery&) = delete;

  // Binds the values to ?1, ?2, …, and returns the rows. The texts must live until the rows are destroyed. The query
  // itself runs in SqliteRows::Next.
  template <typename... Values>
  SqliteRows operator()(const Values&... values) {
    [[maybe_unused]] int index = 0;  // unused without values
    (Bind(++index, values), ...);
    return SqliteRows(database_, statement_);
  }
  // Runs the query to its end, and ignores its rows.
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

// SqliteTransaction: a transaction, during which no other process can write to the file. If it is destroyed without a
// Commit, it changes nothing. The constructor calls ForgetProblem, and may wait for other processes. If the constructor
// fails, queries have no rows.
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
