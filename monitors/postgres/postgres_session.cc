#include "monitors/postgres/postgres_session.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <string_view>

#include "config/text/parse.h"

namespace weir {
namespace {

// libpq's own words, in one line.
std::string Words(const char* message) {
  std::string words(TrimBlanks(message != nullptr ? message : ""));
  std::ranges::replace_if(
      words, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return words;
}

}  // namespace

void PostgresSession::Clear::operator()(pg_result* result) const { PQclear(result); }

void PostgresSession::Close() {
  if (connection_ != nullptr) PQfinish(connection_);
  connection_ = nullptr;
}

int PostgresSession::server_version() const { return connection_ != nullptr ? PQserverVersion(connection_) : 0; }

Status PostgresSession::Lost(const std::string& what) {
  Status lost = Status::Error("PostgreSQL: " + what);
  Close();
  return lost;
}

Status PostgresSession::Wait(short events, TimePoint end) {
  pollfd socket{.fd = PQsocket(connection_), .events = events, .revents = 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::System().Now());
  const int ready = left.count() > 0 ? poll(&socket, 1, static_cast<int>(left.count())) : 0;
  if (ready > 0 || (ready < 0 && errno == EINTR)) return {};
  return Lost("no answer in time");
}

Status PostgresSession::Connect(Duration patience) {
  Close();
  const TimePoint end = Clock::System().Now() + patience;
  // What libpq says of a text that it cannot read may have the password in it.
  char* problem = nullptr;
  PQconninfoOption* const options = PQconninfoParse(conninfo_.c_str(), &problem);
  PQfreemem(problem);
  if (options == nullptr)
    return Status::Error(
        "PostgreSQL: this is no connection string; expected postgres://user@host:5432/database, or "
        "pairs such as host=… dbname=… user=…");
  PQconninfoFree(options);
  connection_ = PQconnectStart(conninfo_.c_str());
  if (connection_ == nullptr) return Status::Error("PostgreSQL: no memory for a connection");
  PostgresPollingStatusType step = PGRES_POLLING_WRITING;
  while (PQstatus(connection_) != CONNECTION_BAD) {
    if (Status waited = Wait(step == PGRES_POLLING_READING ? POLLIN : POLLOUT, end); !waited.ok()) return waited;
    step = PQconnectPoll(connection_);
    if (step == PGRES_POLLING_OK) {
      PQsetnonblocking(connection_, 1);
      return {};
    }
    if (step == PGRES_POLLING_FAILED) break;
  }
  return Lost(Words(PQerrorMessage(connection_)));
}

Status PostgresSession::Finish(TimePoint end) {
  for (int left = PQflush(connection_); left != 0; left = PQflush(connection_)) {
    if (left < 0) return Lost(Words(PQerrorMessage(connection_)));
    if (Status waited = Wait(POLLIN | POLLOUT, end); !waited.ok()) return waited;
    if (PQconsumeInput(connection_) == 0) return Lost(Words(PQerrorMessage(connection_)));
  }
  return {};
}

// Null: there is no more of it.
Result<PostgresSession::Answer> PostgresSession::Receive(TimePoint end) {
  while (PQisBusy(connection_) == 1) {
    if (Status waited = Wait(POLLIN, end); !waited.ok()) return waited;
    if (PQconsumeInput(connection_) == 0) return Lost(Words(PQerrorMessage(connection_)));
  }
  return Answer(PQgetResult(connection_));
}

Result<PostgresSession::Row> PostgresSession::Ask(const std::string& sql, Duration patience) {
  const TimePoint end = Clock::System().Now() + patience;
  if (!connected()) return Status::Error("PostgreSQL: not connected");
  if (PQsendQuery(connection_, sql.c_str()) == 0) return Lost(Words(PQerrorMessage(connection_)));
  if (Status finished = Finish(end); !finished.ok()) return finished;
  Row row;
  for (;;) {
    Result<Answer> answer = Receive(end);
    if (!answer.ok()) return answer.status();
    pg_result* const result = answer.value().get();
    if (result == nullptr) return row;
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
      return Lost(Words(PQresultErrorMessage(result)));
    for (int column = 0; PQntuples(result) > 0 && column < PQnfields(result); ++column) {
      if (PQgetisnull(result, 0, column) == 1) {
        row.emplace_back();
      } else {
        row.emplace_back(PQgetvalue(result, 0, column));
      }
    }
  }
}

}  // namespace weir
