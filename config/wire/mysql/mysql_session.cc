#include "config/wire/mysql/mysql_session.h"

#include <mariadb/errmsg.h>
#include <mariadb/mysql.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "config/text/readable.h"
#include "config/text/url.h"

namespace weir {
namespace {

// A call that waits keeps its state on a stack of its own. The library's stack of 60 KiB is small for a TLS handshake.
constexpr size_t kStackBytes = 256 << 10;

bool IsOfClient(unsigned number) {
  return (number >= CR_MIN_ERROR && number <= CR_MAX_ERROR) || (number >= CER_MIN_ERROR && number <= CER_MAX_ERROR);
}

std::vector<MysqlSession::Row> RowsOf(MYSQL_RES* result) {
  std::vector<MysqlSession::Row> rows;
  const unsigned columns = mysql_num_fields(result);
  while (MYSQL_ROW values = mysql_fetch_row(result)) {
    const unsigned long* const sizes = mysql_fetch_lengths(result);
    MysqlSession::Row& row = rows.emplace_back(columns);
    for (unsigned i = 0; i < columns; ++i)
      if (values[i] != nullptr) row[i].emplace(values[i], sizes[i]);
  }
  return rows;
}

}  // namespace

// Carries on a call of the library that waits for these events. When the time is over, tells the library, which then
// ends the call with an error and closes its socket.
template <typename CarryOn>
void MysqlSession::Finish(int waits_for, TimePoint end, CarryOn carry_on) {
  while (waits_for != 0) {
    const int events = ((waits_for & MYSQL_WAIT_READ) != 0 ? POLLIN : 0) |
                       ((waits_for & MYSQL_WAIT_WRITE) != 0 ? POLLOUT : 0) |
                       ((waits_for & MYSQL_WAIT_EXCEPT) != 0 ? POLLPRI : 0);
    pollfd socket{.fd = mysql_get_socket(connection_), .events = static_cast<short>(events), .revents = 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::System().Now());
    const int ready = left.count() > 0 ? poll(&socket, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    timed_out_ = timed_out_ || ready <= 0;
    waits_for = carry_on(ready > 0 ? waits_for & ~MYSQL_WAIT_TIMEOUT : MYSQL_WAIT_TIMEOUT);
  }
}

void MysqlSession::Close() {
  if (connection_ != nullptr) mysql_close(connection_);
  connection_ = nullptr;
}

Status MysqlSession::Failed() {
  const unsigned number = mysql_errno(connection_);
  const bool is_lost = timed_out_ || IsOfClient(number);
  std::string words = "no answer in time from " + UrlHost(address_.host) + ":" + std::to_string(address_.port);
  if (!timed_out_) words = AsText(mysql_error(connection_)) + " [" + std::to_string(number) + "]";
  error_number_ = is_lost ? 0 : number;
  if (is_lost) {
    // The library's farewell must not wait for a server that stands still.
    shutdown(mysql_get_socket(connection_), SHUT_RDWR);
    Close();
  }
  return Status::Error("MariaDB: " + words);
}

Status MysqlSession::Connect(Duration patience) {
  static const int kReady = mysql_library_init(0, nullptr, nullptr);  // before any thread calls mysql_init
  Close();
  error_number_ = 0;
  timed_out_ = false;
  connection_ = mysql_init(nullptr);
  if (kReady != 0 || connection_ == nullptr) return Status::Error("MariaDB: no memory for a connection");
  const unsigned no_files = 0;
  const my_bool requires_tls = address_.ca_file.empty() ? 0 : 1;
  mysql_options(connection_, MYSQL_OPT_NONBLOCK, &kStackBytes);
  mysql_options(connection_, MYSQL_OPT_LOCAL_INFILE, &no_files);
  mysql_options(connection_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  // The default of this one is not the same in all versions of the library.
  mysql_options(connection_, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &requires_tls);
  if (requires_tls != 0) {
    mysql_options(connection_, MYSQL_OPT_SSL_ENFORCE, &requires_tls);
    mysql_options(connection_, MYSQL_OPT_SSL_CA, address_.ca_file.c_str());
  }
  const auto given = [](const std::string& text) { return text.empty() ? nullptr : text.c_str(); };
  MYSQL* connected = nullptr;
  Finish(mysql_real_connect_start(&connected, connection_, address_.host.c_str(), given(address_.user),
                                  address_.password.c_str(), given(address_.database), address_.port, nullptr, 0),
         Clock::System().Now() + patience,
         [&](int happened) { return mysql_real_connect_cont(&connected, connection_, happened); });
  if (connected != nullptr) return {};
  Status failed = Failed();
  Close();
  return failed;
}

Result<std::vector<MysqlSession::Row>> MysqlSession::Ask(std::string_view sql, Duration patience) {
  std::optional<std::vector<Row>> rows;
  if (Status done = Run(sql, patience, &rows); !done.ok()) return done;
  return *std::move(rows);
}

Status MysqlSession::Execute(std::string_view sql, Duration patience) { return Run(sql, patience, nullptr); }

unsigned MysqlSession::warnings() const { return connected() ? mysql_warning_count(connection_) : 0; }

bool MysqlSession::has_open_work() const {
  unsigned status = 0;
  mariadb_get_infov(connection_, MARIADB_CONNECTION_SERVER_STATUS, &status);
  return (status & SERVER_STATUS_IN_TRANS) != 0 || (status & SERVER_STATUS_AUTOCOMMIT) == 0;
}

// Without `rows`, drops the rows.
Status MysqlSession::Run(std::string_view sql, Duration patience, std::optional<std::vector<Row>>* rows) {
  error_number_ = 0;
  timed_out_ = false;
  if (!connected()) return Status::Error("MariaDB: not connected");
  const TimePoint end = Clock::System().Now() + patience;
  int failed = 0;
  Finish(mysql_real_query_start(&failed, connection_, sql.data(), sql.size()), end,
         [&](int happened) { return mysql_real_query_cont(&failed, connection_, happened); });
  // A procedure has several results.
  while (failed == 0) {
    MYSQL_RES* result = nullptr;
    if (rows == nullptr) {
      result = mysql_use_result(connection_);
    } else {
      Finish(mysql_store_result_start(&result, connection_), end,
             [&](int happened) { return mysql_store_result_cont(&result, connection_, happened); });
      if (!*rows) *rows = result != nullptr ? RowsOf(result) : std::vector<Row>();
    }
    // This reads the rows that were not stored, to their end.
    if (result != nullptr)
      Finish(mysql_free_result_start(result), end,
             [&](int happened) { return mysql_free_result_cont(result, happened); });
    if (timed_out_ || mysql_errno(connection_) != 0) return Failed();
    if (mysql_more_results(connection_) == 0) return {};
    Finish(mysql_next_result_start(&failed, connection_), end,
           [&](int happened) { return mysql_next_result_cont(&failed, connection_, happened); });
  }
  return Failed();
}

}  // namespace weir
