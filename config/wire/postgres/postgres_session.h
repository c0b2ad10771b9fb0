// PostgresSession: a connection to a PostgreSQL server. Its calls return within a given time (for Connect see below).
// Ask sends one query. Queue collects prepared statements; Run sends all of them at once and gets the answers in one
// round trip. A statement that is new to the connection costs Run another round trip, which prepares it:
//
//   session.Queue(kBegin);
//   session.Queue(kFind, PostgresValues().Array(ids));
//   auto answers = session.Run(patience);  // one for each statement, or the error of the first that failed
//
// Errors begin with "PostgreSQL: ". Those that the server itself gave end with their SQLSTATE, such as "[57014]".
//
// Threads: only one thread at a time may use a session.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "config/wire/postgres/postgres_values.h"

struct pg_conn;

namespace weir {

// A statement that is prepared once on every connection. A session remembers it by its address, so the object must
// outlive the session.
struct PostgresStatement {
  const char* name;
  const char* sql;
};

// One of the servers that a connection string names, as in libpq's host, hostaddr and port; a field may be empty.
struct PostgresHost {
  std::string name;
  std::string address;
  std::string port;
};

class PostgresSession {
 public:
  using Row = std::vector<std::optional<std::string>>;  // nullopt: NULL

  // `conninfo` is a connection string of libpq: pairs of key=value, or postgres://…. It may name several hosts. Does
  // not connect.
  explicit PostgresSession(std::string conninfo) : conninfo_(std::move(conninfo)) {}
  ~PostgresSession() { Close(); }
  PostgresSession(const PostgresSession&) = delete;
  PostgresSession& operator=(const PostgresSession&) = delete;

  // Closes the session and connects: to the host that worked last, or else to the next one that works. Each of several
  // hosts gets a share of `patience`, because a host that is down may not even refuse the connection. If a name has to
  // be looked up first, the call may take longer than `patience`.
  Status Connect(Duration patience);
  bool connected() const { return connection_ != nullptr; }
  int server_version() const;  // such as 150006; 0 if not connected
  // Runs `sql` and returns the first row, which is empty if there is none. After an error, or without an answer in
  // time, the session is closed. Use Ask and Run on different sessions: Run leaves the connection in pipeline mode, in
  // which libpq may refuse the query of Ask.
  Result<Row> Ask(const std::string& sql, Duration patience);

  // Adds a statement to the next Run.
  void Queue(const PostgresStatement& statement, PostgresValues values = {});
  // Sends the queued statements and returns their answers in the same order; the queue is then empty, also after an
  // error. If a statement fails, those after it are not executed and an open transaction has failed, but the session
  // stays open. Run closes the session if a statement cannot be prepared, if the connection is lost, or if the answers
  // do not come in time.
  Result<std::vector<PostgresRows>> Run(Duration patience);
  // Returns the SQLSTATE of the statement that failed in the last Run, such as "40001". It is empty if no statement
  // failed, or if the session has been lost since then. After a Connect that failed it is the SQLSTATE of the first
  // host that answered with one, such as "53300".
  const std::string& error_code() const { return error_code_; }
  // Returns true if the last Run closed the session because the answers did not come in time; the server may still
  // execute its statements. A time-out of Connect or Ask sets it, too. Only Run resets it.
  bool timed_out() const { return timed_out_; }
  // Returns the socket to wait on after a LISTEN; -1 if not connected.
  int socket() const;
  // Returns the payloads of the notifications that have arrived, without waiting. If the connection is lost, returns an
  // error and closes the session.
  Result<std::vector<std::string>> TakeNotifications();
  // Returns true if, since the last call, the server reported a COMMIT for which it did not wait for its standbys.
  bool TakeUnreplicated() { return std::exchange(unreplicated_, false); }
  // Closes the connection and drops the queued statements.
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
  size_t last_host_ = 0;  // index of the host that worked last
  std::vector<Queued> queued_;
  std::set<const PostgresStatement*> prepared_;
  std::string error_code_;
  bool unreplicated_ = false;
  bool timed_out_ = false;
  pg_conn* connection_ = nullptr;
};

}  // namespace weir
