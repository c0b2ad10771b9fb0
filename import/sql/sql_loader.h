// SqlLoader: executes SQL statements on a server, in order, as bulk work (bulk_gate.h).
//
// Statements that change rows (INSERT, REPLACE, UPDATE, DELETE) are collected into transactions. If one fails because
// another client has a row (a lock that was waited for too long, a deadlock), it is rolled back and tried again, some
// times; unless a table that knows no transactions has kept rows of it. Any other statement is executed alone, after
// the transaction before it, and is committed. LOCK TABLES and UNLOCK TABLES are left out: they would lock out other
// clients until the end. So are BEGIN, START TRANSACTION, COMMIT, ROLLBACK, SAVEPOINT and RELEASE, and autocommit is
// set on again after each statement that turned it off.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "config/wire/mysql/mysql_session.h"
#include "import/bulk_gate.h"
#include "import/sql/sql_splitter.h"

namespace weir {

struct SqlLoaderOptions {
  uint64_t transaction_bytes = 256 << 10;        // a transaction with this much SQL is complete
  Duration patience = std::chrono::minutes(10);  // for one statement
};

struct SqlLoadTally {
  uint64_t statements = 0;  // executed ones
  uint64_t bytes = 0;       // bytes of SQL in these
  uint64_t repeated = 0;    // transactions that were tried again
  uint64_t left_out = 0;    // statements that were left out, such as LOCK TABLES
  // All statements that end before this line have been executed, or left out.
  uint64_t next_line = 1;
  // Counts the statements that end on that line and have reached it. After these none has, but for what `unknown` says.
  uint64_t done_on_line = 0;
  enum class Unknown : uint8_t {
    kNothing,
    kLost,       // the connection was lost during a statement, or a commit, that may have been executed all the same
    kNotUndone,  // a table that knows no transactions kept rows of the next transaction
    kAlone,      // the next statement, which is no part of a transaction, failed, and may have done a part of its work
  };
  Unknown unknown = Unknown::kNothing;
};

class SqlLoader {
 public:
  // The session must be connected. Session and gate must outlive the loader.
  SqlLoader(MysqlSession& session, BulkGate& gate, const SqlLoaderOptions& options)
      : session_(session), gate_(gate), options_(options) {}

  // Both return the error of the first statement that failed, with its line, or "stopped" after BulkGate::Stop. After
  // an error the object must not be used except for its tally.
  Status Add(SqlStatement statement);
  // Executes what was collected.
  Status Finish();

  const SqlLoadTally& tally() const { return tally_; }

 private:
  Status Execute(const SqlStatement& statement);
  Status RunTransaction();
  Status RunAlone(const SqlStatement& statement);
  void MoveTo(uint64_t line);
  void Done(const SqlStatement& statement);

  MysqlSession& session_;
  BulkGate& gate_;
  const SqlLoaderOptions options_;
  std::vector<SqlStatement> rows_;  // the transaction that is being collected
  uint64_t rows_bytes_ = 0;
  bool conflict_ = false;  // true if the last transaction failed because of another client
  SqlLoadTally tally_;
};

}  // namespace weir
