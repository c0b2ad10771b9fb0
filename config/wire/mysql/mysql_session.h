// MysqlSession: a connection to a MariaDB or MySQL. Its calls return within a given time (for Connect see below).
//
//   MysqlSession session(ParseMysqlUrl("mysql://weir@127.0.0.1/notes").value());
//   Status connected = session.Connect(patience);
//   auto rows = session.Ask("SELECT id, text FROM note", patience);
//
// Errors begin with "MariaDB: " and end with their number, such as "[1062]", unless no answer came in time.
//
// Threads: only one thread at a time may use a session.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "config/wire/mysql/mysql_url.h"

struct st_mysql;

namespace weir {

class MysqlSession {
 public:
  using Row = std::vector<std::optional<std::string>>;  // nullopt: NULL

  // Does not connect.
  explicit MysqlSession(MysqlAddress address) : address_(std::move(address)) {}
  ~MysqlSession() { Close(); }
  MysqlSession(const MysqlSession&) = delete;
  MysqlSession& operator=(const MysqlSession&) = delete;

  // Closes the session and connects. If a name has to be looked up first, the call may take longer than `patience`. The
  // server may not ask for files of this machine (LOAD DATA LOCAL).
  Status Connect(Duration patience);
  bool connected() const { return connection_ != nullptr; }
  // Runs one statement and returns the rows of its first result; none for a statement without rows. After an error of
  // the server, such as a duplicate key, the session stays open. If the connection is lost, or no answer comes in time,
  // the session is closed; the server may have executed the statement, or may still execute it.
  Result<std::vector<Row>> Ask(std::string_view sql, Duration patience);
  // The same as Ask, but drops the rows as they come, so that memory holds one row at most.
  Status Execute(std::string_view sql, Duration patience);
  // Returns the number of warnings of the last statement.
  unsigned warnings() const;
  // Returns true if the last statement left a transaction open, or autocommit off. The session must be connected.
  bool has_open_work() const;
  // Returns the number of the server's error that the last call returned, such as 1062; 0 if it returned none.
  unsigned error_number() const { return error_number_; }
  void Close();

 private:
  template <typename CarryOn>
  void Finish(int waits_for, TimePoint end, CarryOn carry_on);
  Status Failed();
  Status Run(std::string_view sql, Duration patience, std::optional<std::vector<Row>>* rows);

  const MysqlAddress address_;
  unsigned error_number_ = 0;
  bool timed_out_ = false;
  st_mysql* connection_ = nullptr;
};

}  // namespace weir
