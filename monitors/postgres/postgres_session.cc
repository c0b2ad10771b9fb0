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
  prepared_.clear();
  queued_.clear();
}

int PostgresSession::server_version() const { return connection_ != nullptr ? PQserverVersion(connection_) : 0; }

Status PostgresSession::Lost(const std::string& what) {
  Status lost = Status::Error("PostgreSQL: " + what);
  error_code_.clear();
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
      PQsetNoticeReceiver(connection_, OnNotice, this);
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

void PostgresSession::Queue(const PostgresStatement& statement, PostgresValues values) {
  queued_.push_back({&statement, std::move(values)});
}

Result<std::vector<PostgresRows>> PostgresSession::Run(Duration patience) {
  const TimePoint end = Clock::System().Now() + patience;
  error_code_.clear();
  const std::vector<Queued> queued = std::exchange(queued_, {});
  if (!connected()) return Lost("not connected");
  if (PQpipelineStatus(connection_) == PQ_PIPELINE_OFF && PQenterPipelineMode(connection_) == 0)
    return Lost(Words(PQerrorMessage(connection_)));
  if (Status prepared = Prepare(queued, end); !prepared.ok()) return prepared;
  if (Status sent = Send(queued, end); !sent.ok()) return sent;
  std::vector<PostgresRows> answers;
  if (Status collected = Collect(queued.size(), end, &answers); !collected.ok()) return collected;
  return answers;
}

// In a journey of its own, which is made once: what failed behind it would leave open which are prepared.
Status PostgresSession::Prepare(const std::vector<Queued>& queued, TimePoint end) {
  size_t count = 0;
  for (const Queued& each : queued) {
    if (!prepared_.insert(each.statement).second) continue;
    if (PQsendPrepare(connection_, each.statement->name, each.statement->sql, 0, nullptr) == 0)
      return Lost(Words(PQerrorMessage(connection_)));
    ++count;
  }
  if (count == 0) return {};
  if (PQpipelineSync(connection_) == 0) return Lost(Words(PQerrorMessage(connection_)));
  if (Status flushed = Finish(end); !flushed.ok()) return flushed;
  std::vector<PostgresRows> answers;
  Status collected = Collect(count, end, &answers);
  if (!collected.ok()) Close();
  return collected;
}

Status PostgresSession::Send(const std::vector<Queued>& queued, TimePoint end) {
  std::vector<const char*> values;
  std::vector<int> sizes;
  std::vector<int> formats;
  for (const Queued& each : queued) {
    const std::vector<std::string>& all = each.values.all();
    values.clear();
    sizes.clear();
    for (const std::string& value : all) {
      values.push_back(value.data());
      sizes.push_back(static_cast<int>(value.size()));
    }
    formats.assign(all.size(), 1);
    if (PQsendQueryPrepared(connection_, each.statement->name, static_cast<int>(all.size()), values.data(),
                            sizes.data(), formats.data(), 1) == 0)
      return Lost(Words(PQerrorMessage(connection_)));
  }
  if (PQpipelineSync(connection_) == 0) return Lost(Words(PQerrorMessage(connection_)));
  return Finish(end);
}

// The answers of so many statements and what ends them. Each is followed by nothing.
Status PostgresSession::Collect(size_t count, TimePoint end, std::vector<PostgresRows>* answers) {
  Status failed;
  for (size_t left = count; left > 0; --left) {
    Result<Answer> answer = Receive(end);
    if (!answer.ok()) return answer.status();
    if (answer.value() == nullptr) return Lost(Words(PQerrorMessage(connection_)));
    const ExecStatusType status = PQresultStatus(answer.value().get());
    if (status == PGRES_FATAL_ERROR && failed.ok()) {
      const char* code = PQresultErrorField(answer.value().get(), PG_DIAG_SQLSTATE);
      failed = Status::Error("PostgreSQL: " + Words(PQresultErrorMessage(answer.value().get())));
      error_code_ = code != nullptr ? code : "";
    } else if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      answers->emplace_back(answer.value().release());
    } else if (status != PGRES_PIPELINE_ABORTED && status != PGRES_FATAL_ERROR) {
      return Lost("an answer that is none");
    }
    if (PQstatus(connection_) == CONNECTION_BAD) {
      Close();
      return failed;
    }
    if (Result<Answer> none = Receive(end); !none.ok()) return none.status();
  }
  Result<Answer> last = Receive(end);
  if (!last.ok()) return last.status();
  if (PQresultStatus(last.value().get()) != PGRES_PIPELINE_SYNC) return Lost("an answer that is none");
  return failed;
}

int PostgresSession::socket() const { return connection_ != nullptr ? PQsocket(connection_) : -1; }

Result<std::vector<std::string>> PostgresSession::TakeNotifications() {
  if (!connected()) return Lost("not connected");
  if (PQconsumeInput(connection_) == 0) return Lost(Words(PQerrorMessage(connection_)));
  std::vector<std::string> payloads;
  while (PGnotify* const notification = PQnotifies(connection_)) {
    payloads.emplace_back(notification->extra);
    PQfreemem(notification);
  }
  return payloads;
}

// "canceling wait for synchronous replication" is all that a server says of a COMMIT that is on no standby.
void PostgresSession::OnNotice(void* session, const pg_result* notice) {
  const char* code = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
  const std::string_view cause = code != nullptr ? code : "";
  if (cause == "57014" || cause == "57P01") static_cast<PostgresSession*>(session)->unreplicated_ = true;
}

}  // namespace weir
