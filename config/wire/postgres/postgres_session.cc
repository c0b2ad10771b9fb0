#include "config/wire/postgres/postgres_session.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "config/text/parse.h"

namespace weir {
namespace {

// Puts a message of libpq on one line.
std::string Words(const char* message) {
  std::string words(TrimBlanks(message != nullptr ? message : ""));
  std::ranges::replace_if(
      words, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return words;
}

// Returns the words of an error of the server, with its SQLSTATE behind them: the words may be in any language.
std::string WithCode(std::string words, std::string_view code) {
  return code.empty() ? std::move(words) : std::move(words) + " [" + std::string(code) + "]";
}

std::string ErrorOf(const pg_result* result) {
  const char* code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return WithCode(Words(PQresultErrorMessage(result)), code != nullptr ? code : "");
}

// Takes the SQLSTATE out of the verbose message of a connection that the server has refused, such as "… failed: FATAL:
// 53300: sorry, too many clients already LOCATION:  InitProcess, proc.c:361". libpq tells it in no other way.
std::string TakeCode(std::string* message) {
  message->resize(std::min(message->size(), message->find(" LOCATION: ")));
  constexpr size_t kCodeBytes = 5;
  for (size_t end = message->find(": "); end != message->npos; end = message->find(": ", end + 1)) {
    const size_t begin = end - std::min(end, kCodeBytes);
    std::string code = message->substr(begin, end - begin);
    const bool is_code = code.size() == kCodeBytes && std::ranges::all_of(code, [](char c) {
                           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
                         });
    if (!is_code || begin < 2 || (*message)[begin - 1] != ' ' || code == "FATAL" || code == "PANIC" || code == "ERROR")
      continue;
    message->erase(begin, kCodeBytes + 2);
    return code;
  }
  return "";
}

std::vector<std::string> Items(const char* list) {
  std::vector<std::string> items;
  for (std::string_view rest = list != nullptr ? list : ""; !rest.empty();) {
    const size_t comma = rest.find(',');
    items.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
  }
  return items;
}

// Reads the hosts of a connection string; a field is empty if libpq chooses by itself. Returns an empty list if libpq
// cannot read the string. Drops libpq's message, because it may contain the password.
std::vector<PostgresHost> HostsOf(const std::string& conninfo) {
  char* problem = nullptr;
  PQconninfoOption* const options = PQconninfoParse(conninfo.c_str(), &problem);
  PQfreemem(problem);
  if (options == nullptr) return {};
  std::vector<std::string> names;
  std::vector<std::string> addresses;
  std::vector<std::string> ports;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    if (keyword == "host") names = Items(option->val);
    if (keyword == "hostaddr") addresses = Items(option->val);
    if (keyword == "port") ports = Items(option->val);
  }
  PQconninfoFree(options);
  std::vector<PostgresHost> hosts(std::max({names.size(), addresses.size(), size_t{1}}));
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (i < names.size()) hosts[i].name = names[i];
    if (i < addresses.size()) hosts[i].address = addresses[i];
    if (!ports.empty()) hosts[i].port = ports.size() == 1 ? ports[0] : i < ports.size() ? ports[i] : "";
    if (hosts[i].port.empty() && hosts.size() > 1) hosts[i].port = "5432";
  }
  return hosts;
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
  timed_out_ = true;
  return Lost("no answer in time");
}

Status PostgresSession::Connect(Duration patience) {
  Close();
  const TimePoint end = Clock::System().Now() + patience;
  const std::vector<PostgresHost> hosts = HostsOf(conninfo_);
  if (hosts.empty())
    return Status::Error(
        "PostgreSQL: this is not a connection string; expected postgres://user@host:5432/database, or pairs such as "
        "host=… dbname=… user=…");
  std::string failures;
  std::string code;
  for (size_t tried = 0; tried < hosts.size(); ++tried) {
    const size_t number = (last_host_ + tried) % hosts.size();
    const TimePoint now = Clock::System().Now();
    const Status connected = ConnectTo(hosts[number], now + (end - now) / static_cast<int64_t>(hosts.size() - tried));
    if (connected.ok()) {
      last_host_ = number;
      return {};
    }
    failures += (failures.empty() ? "" : "; ") + connected.message();
    if (code.empty()) code = error_code_;
  }
  error_code_ = std::move(code);
  return Status::Error(failures);
}

Status PostgresSession::ConnectTo(const PostgresHost& host, TimePoint end) {
  const std::array<const char*, 5> keywords{"dbname", "host", "hostaddr", "port", nullptr};
  const std::array<const char*, 5> values{conninfo_.c_str(), host.name.c_str(), host.address.c_str(), host.port.c_str(),
                                          nullptr};
  connection_ = PQconnectStartParams(keywords.data(), values.data(), 1);
  if (connection_ == nullptr) return Status::Error("PostgreSQL: no memory for a connection");
  PQsetErrorVerbosity(connection_, PQERRORS_VERBOSE);
  PostgresPollingStatusType step = PGRES_POLLING_WRITING;
  while (PQstatus(connection_) != CONNECTION_BAD) {
    if (Status waited = Wait(step == PGRES_POLLING_READING ? POLLIN : POLLOUT, end); !waited.ok())
      return host.name.empty() ? waited : Status::Error(waited.message() + " from " + host.name + ":" + host.port);
    step = PQconnectPoll(connection_);
    if (step == PGRES_POLLING_OK) {
      PQsetnonblocking(connection_, 1);
      PQsetErrorVerbosity(connection_, PQERRORS_DEFAULT);
      PQsetNoticeReceiver(connection_, OnNotice, this);
      return {};
    }
    if (step == PGRES_POLLING_FAILED) break;
  }
  std::string words = Words(PQerrorMessage(connection_));
  std::string code = TakeCode(&words);
  Status lost = Lost(WithCode(std::move(words), code));
  error_code_ = std::move(code);
  return lost;
}

Status PostgresSession::Finish(TimePoint end) {
  for (int left = PQflush(connection_); left != 0; left = PQflush(connection_)) {
    if (left < 0) return Lost(Words(PQerrorMessage(connection_)));
    if (Status waited = Wait(POLLIN | POLLOUT, end); !waited.ok()) return waited;
    if (PQconsumeInput(connection_) == 0) return Lost(Words(PQerrorMessage(connection_)));
  }
  return {};
}

// Returns null if there is no further answer.
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
      return Lost(ErrorOf(result));
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
  timed_out_ = false;
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

// Takes a round trip of its own, once per statement. If it shared one with the queued statements and one failed, it
// would be unknown which are prepared.
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

// Collects the answers of `count` statements and the sync that ends them. A null follows each answer.
Status PostgresSession::Collect(size_t count, TimePoint end, std::vector<PostgresRows>* answers) {
  Status failed;
  for (size_t left = count; left > 0; --left) {
    Result<Answer> answer = Receive(end);
    if (!answer.ok()) return answer.status();
    if (answer.value() == nullptr) return Lost(Words(PQerrorMessage(connection_)));
    const ExecStatusType status = PQresultStatus(answer.value().get());
    if (status == PGRES_FATAL_ERROR && failed.ok()) {
      const char* code = PQresultErrorField(answer.value().get(), PG_DIAG_SQLSTATE);
      failed = Status::Error("PostgreSQL: " + ErrorOf(answer.value().get()));
      error_code_ = code != nullptr ? code : "";
    } else if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      answers->emplace_back(answer.value().release());
    } else if (status != PGRES_PIPELINE_ABORTED && status != PGRES_FATAL_ERROR) {
      return Lost("an unexpected answer");
    }
    if (PQstatus(connection_) == CONNECTION_BAD) {
      Close();
      return failed;
    }
    if (Result<Answer> none = Receive(end); !none.ok()) return none.status();
  }
  Result<Answer> last = Receive(end);
  if (!last.ok()) return last.status();
  if (PQresultStatus(last.value().get()) != PGRES_PIPELINE_SYNC) return Lost("an unexpected answer");
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

// A warning from the server's SyncRepWaitForLSN is the only sign of a COMMIT that is on no standby. Its words depend on
// the language, and its code is that of any warning (01000).
void PostgresSession::OnNotice(void* session, const pg_result* notice) {
  const char* source = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  if (source != nullptr && std::string_view(source) == "SyncRepWaitForLSN")
    static_cast<PostgresSession*>(session)->unreplicated_ = true;
}

}  // namespace weir
