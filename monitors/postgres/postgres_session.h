// PostgresSession: a connection to a PostgreSQL, on which nobody waits for longer than he wants to. One question is
// asked (Ask), or a run of prepared statements is sent at once and answered in one journey:
//
//   session.Queue(kBegin);
//   session.Queue(kFind, PostgresValues().Array(ids));
//   auto answers = session.Run(patience);  // one for each, or the error of the first that failed
//
// Threads: one at a time.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "monitors/postgres/postgres_values.h"

struct pg_conn;

namespace weir {

// Each is one object for as long as the program runs, and is prepared once on every connection.
struct PostgresStatement {
  const char* name;
  const char* sql;
};

// One server of an address, its fields as libpq has them.
struct PostgresHost {
  std::string name;
  std::string address;
  std::string port;
};

class PostgresSession {
 public:
  using Row = std::vector<std::optional<std::string>>;  // nothing: NULL

  // `conninfo` as libpq has it: pairs of key=value, or postgres://…; of several hosts the one that
  // did last, or the next that will do.
  explicit PostgresSession(std::string conninfo) : conninfo_(std::move(conninfo)) {}
  ~PostgresSession() { Close(); }
  PostgresSession(const PostgresSession&) = delete;
  PostgresSession& operator=(const PostgresSession&) = delete;

  // Each of several hosts gets its share of the patience: one that is gone refuses nothing.
  // A name that has to be looked up first may take longer.
  Status Connect(Duration patience);
  bool connected() const { return connection_ != nullptr; }
  int server_version() const;  // 150006
  // The first row. Without an answer in time, or after an error, the session is closed.
  Result<Row> Ask(const std::string& sql, Duration patience);

  // Sent with the next Run.
  void Queue(const PostgresStatement& statement, PostgresValues values = {});
  // After an error of a statement those behind it were not done, a transaction that was begun has failed, and the
  // session goes on; without an answer in time it is closed.
  Result<std::vector<PostgresRows>> Run(Duration patience);
  // Of the error that was returned last, as the SQL standard numbers them: "40001"; empty: the connection was lost.
  const std::string& error_code() const { return error_code_; }
  // It was lost because the last answer did not come in time; it may yet be done.
  bool timed_out() const { return timed_out_; }
  // To wait for, where somebody was asked to LISTEN.
  int socket() const;
  // What was notified by now, without waiting.
  Result<std::vector<std::string>> TakeNotifications();
  // The server said at a COMMIT that it did not wait for its standbys. Forgotten when it is asked.
  bool TakeUnreplicated() { return std::exchange(unreplicated_, false); }
  void Close();

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  using Answer = std::unique_ptr<pg_result, Clear>;
  struct Queued {
    const PostgresStatement* statement;
    PostgresValues values;
  };

  Status ConnectTo(const PostgresHost& host, TimePoint end);
  Status Wait(short events, TimePoint end);
  Status Finish(TimePoint end);
  Result<Answer> Receive(TimePoint end);
  Status Lost(const std::string& what);
  Status Prepare(const std::vector<Queued>& queued, TimePoint end);
  Status Send(const std::vector<Queued>& queued, TimePoint end);
  Status Collect(size_t count, TimePoint end, std::vector<PostgresRows>* answers);
  static void OnNotice(void* session, const pg_result* notice);

  const std::string conninfo_;
  size_t last_host_ = 0;  // that would do
  std::vector<Queued> queued_;
  std::set<const PostgresStatement*> prepared_;
  std::string error_code_;
  bool unreplicated_ = false;
  bool timed_out_ = false;
  pg_conn* connection_ = nullptr;
};

}  // namespace weir
