// PostgresSession: a connection to a PostgreSQL on which one question is asked at a time, none for longer than it may
// take.
//
// Threads: one at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/clock.h"
#include "config/status.h"

struct pg_conn;
struct pg_result;

namespace weir {

class PostgresSession {
 public:
  using Row = std::vector<std::optional<std::string>>;  // nothing: NULL

  // `conninfo` as libpq has it: pairs of key=value, or postgres://…; of several hosts the first that will do.
  explicit PostgresSession(std::string conninfo) : conninfo_(std::move(conninfo)) {}
  ~PostgresSession() { Close(); }
  PostgresSession(const PostgresSession&) = delete;
  PostgresSession& operator=(const PostgresSession&) = delete;

  // A name that has to be looked up first may take longer.
  Status Connect(Duration patience);
  bool connected() const { return connection_ != nullptr; }
  int server_version() const;  // 150006
  // The first row. Without an answer in time, or after an error, the session is closed.
  Result<Row> Ask(const std::string& sql, Duration patience);
  void Close();

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  using Answer = std::unique_ptr<pg_result, Clear>;

  Status Wait(short events, TimePoint end);
  Status Finish(TimePoint end);
  Result<Answer> Receive(TimePoint end);
  Status Lost(const std::string& what);

  const std::string conninfo_;
  pg_conn* connection_ = nullptr;
};

}  // namespace weir
