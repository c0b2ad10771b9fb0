// PostgresSession: a connection to a PostgreSQL whose calls wait no longer than their patience. It asks one question
// (Ask), or sends a run of prepared statements at once and gets the answers in one round trip:
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

// Each statement must be one object that lives as long as the program; it is prepared once on every connection.
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
  using Row = std::vector<std::optional<std::string>>;  // nullopt: NULL

  // `conninfo` is as libpq has it: pairs of key=value, or postgres://…. Of several hosts it takes the one that worked
  // last, or the next one that works.
  explicit PostgresSession(std::string conninfo) : conninfo_(std::move(conninfo)) {}
  ~PostgresSession() { Close(); }
  PostgresSession(const PostgresSession&) = delete;
  PostgresSession& operator=(const PostgresSession&) = delete;

  // Gives each of several hosts its share of the patience, for a host that is gone does not even refuse. A name that
  // has to be looked up first may take longer.
  Status Connect(Duration patience);
  bool connected() const { return connection_ != nullptr; }
  int server_version() const;  // 150006
  // Returns the first row. Without an answer in time, or after an error, the session is closed.
  Result<Row> Ask(const std::string& sql, Duration patience);

  // Adds a statement to the next Run.
  void Queue(const PostgresStatement& statement, PostgresValues values = {});
  // Sends the queued statements and returns their answers. After an error of a statement those behind it were not done
  // and a transaction that was begun has failed, but the session goes on; without an answer in time it is closed.
  Result<std::vector<PostgresRows>> Run(Duration patience);
  // The SQLSTATE of the error that Run returned last, such as "40001"; empty if the connection was lost.
  const std::string& error_code() const { return error_code_; }
  // True if the connection was lost because the last answer did not come in time; its statements may yet be done.
  bool timed_out() const { return timed_out_; }
  // The socket to wait on after a LISTEN; -1 if not connected.
  int socket() const;
  // Returns the payloads of the notifications that have arrived, without waiting.
  Result<std::vector<std::string>> TakeNotifications();
  // Returns true if the server said at a COMMIT that it did not wait for its standbys, and forgets it.
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
  size_t last_host_ = 0;  // the one that worked last
  std::vector<Queued> queued_;
  std::set<const PostgresStatement*> prepared_;
  std::string error_code_;
  bool unreplicated_ = false;
  bool timed_out_ = false;
  pg_conn* connection_ = nullptr;
};

}  // namespace weir
