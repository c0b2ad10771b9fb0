#include "throttle/limits/quota/sqlite/sqlite_database.h"

#include <sqlite3.h>

#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "config/sync_directory.h"

namespace weir {
namespace {

std::string Advice(int code, std::chrono::milliseconds busy_timeout) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process has kept it locked for " + std::to_string(busy_timeout.count()) +
             " ms; end that process, or its transaction";
    case SQLITE_FULL:
      return "the disk is full; make room";
    case SQLITE_CORRUPT:
      return "the file is damaged; restore it from a copy, or move it away to begin anew";
    case SQLITE_NOTADB:
      return "this is not a SQLite file; name another, or move it away";
    case SQLITE_READONLY:
      return "it cannot be written; the file and its directory must be writable, and the file must not be moved while "
             "it is in use";
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return "it cannot be opened for writing; look at the path and its permissions";
    case SQLITE_IOERR:
      return "reading or writing failed; look at the disk";
    default:
      return "";
  }
}

Status MakeDirectoryOf(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  const std::error_code error = directory.empty() ? std::error_code() : MakeDirectories(directory);
  if (error) return Status::Error(path + ": its directory cannot be made: " + error.message());
  return {};
}

}  // namespace

SqliteDatabase::SqliteDatabase(std::string path, std::chrono::milliseconds busy_timeout)
    : path_(std::move(path)), busy_timeout_(busy_timeout) {}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& path,
                                                             std::chrono::milliseconds busy_timeout, bool must_exist) {
  if (path.empty() || path == ":memory:")
    return Status::Error("sqlite: no file is named; expected the path of one (the store \"memory\" needs none)");
  std::error_code unknown;
  if (must_exist && !std::filesystem::exists(path, unknown) && !unknown)
    return Status::Error(path + ": there is no such file");
  if (!must_exist)
    if (Status made = MakeDirectoryOf(path); !made.ok()) return made;
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(path, busy_timeout));
  // SQLite needs no mutex of its own, because the store has one.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (must_exist ? 0 : SQLITE_OPEN_CREATE);
  const int code = sqlite3_open_v2(path.c_str(), &database->handle_, flags, nullptr);
  if (code != SQLITE_OK) {
    database->Fail(code);
  } else if (sqlite3_db_readonly(database->handle_, "main") == 1) {
    database->Fail(SQLITE_READONLY);
  }
  if (!database->ok()) return Status::Error(database->problem());
  sqlite3_extended_result_codes(database->handle_, 1);
  database->SetPatience(busy_timeout, busy_timeout);
  database->begin_ = std::make_unique<SqliteQuery>(*database, "BEGIN IMMEDIATE");
  database->commit_ = std::make_unique<SqliteQuery>(*database, "COMMIT");
  if (!database->ok()) return Status::Error(database->problem());
  return database;
}

SqliteDatabase::~SqliteDatabase() {
  begin_.reset();
  commit_.reset();
  sqlite3_close_v2(handle_);
}

void SqliteDatabase::SetPatience(std::chrono::milliseconds left, std::chrono::milliseconds of) {
  busy_timeout_ = of;
  patience_ = left;
  sqlite3_busy_handler(handle_, &SqliteDatabase::WaitForLock, this);
}

// Tries every millisecond. The pauses of sqlite3_busy_timeout grow to 100 ms. With them, one of eight processes that
// did nothing but decide tried 50 times in 5 s, and found the file locked each time.
int SqliteDatabase::WaitForLock(void* database, int tries) {
  auto& self = *static_cast<SqliteDatabase*>(database);
  const auto now = std::chrono::steady_clock::now();
  if (tries == 0) self.waits_since_ = now;
  if (now - self.waits_since_ >= self.patience_) return 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return 1;
}

void SqliteDatabase::Fail(int code) {
  if (!problem_.empty()) return;
  const int kind = code & 0xff;
  was_busy_ = kind == SQLITE_BUSY;
  // SQLite may fail because the file was moved, before CheckInPlace has noticed that.
  if (kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN || kind == SQLITE_READONLY) CheckInPlace();
  if (!problem_.empty()) return;
  const std::string advice = Advice(code, busy_timeout_);
  problem_ = path_ + ": " + (handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code));
  const int system = handle_ != nullptr ? sqlite3_system_errno(handle_) : 0;
  if (system != 0 && (kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN))
    problem_.append(" (").append(std::strerror(system)).append(")");
  if (!advice.empty()) problem_.append(": ").append(advice);
}

void SqliteDatabase::Refuse(const std::string& why) {
  if (problem_.empty()) problem_ = path_ + ": " + why;
}

// Fails if the file was removed or replaced. Otherwise this process would go on counting in the removed file, while
// other processes count in a new one. The check takes 2 us of the 20 to 120 us of a decision.
void SqliteDatabase::CheckInPlace() {
  int moved = 0;
  (void)sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved != 0)
    Refuse("the file was removed or replaced while in use; put it back, or restart to go on with what is there now");
}

void SqliteDatabase::ForgetProblem() {
  problem_.clear();
  was_busy_ = false;
}

void SqliteDatabase::Execute(const std::string& sql) {
  if (!ok()) return;
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) Fail(code);
}

int64_t SqliteDatabase::changes() const { return sqlite3_total_changes64(handle_); }

int64_t SqliteDatabase::last_id() const { return sqlite3_last_insert_rowid(handle_); }

SqliteRows::~SqliteRows() { sqlite3_reset(statement_); }

bool SqliteRows::Next() {
  if (!database_.ok()) return false;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.Fail(code);
  return false;
}

int64_t SqliteRows::Int(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view SqliteRows::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return {text == nullptr ? "" : text, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

bool SqliteRows::IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

SqliteQuery::SqliteQuery(SqliteDatabase& database, const std::string& sql) : database_(database) {
  if (!database.ok()) return;
  const int code = sqlite3_prepare_v3(database.handle_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (code != SQLITE_OK) database.Fail(code);
}

SqliteQuery::~SqliteQuery() { sqlite3_finalize(statement_); }

void SqliteQuery::Bind(int index, int64_t value) {
  if (database_.ok()) sqlite3_bind_int64(statement_, index, value);
}

void SqliteQuery::Bind(int index, std::string_view value) {
  if (database_.ok()) sqlite3_bind_text(statement_, index, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
}

SqliteTransaction::SqliteTransaction(SqliteDatabase& database) : database_(database) {
  database.ForgetProblem();
  database.begin_->Run();
  if (database.ok()) database.CheckInPlace();
}

SqliteTransaction::~SqliteTransaction() {
  // Some failures make SQLite roll back by itself. The problem is set by now, so a failure of ROLLBACK does not change
  // it.
  if (sqlite3_get_autocommit(database_.handle_) == 0)
    (void)sqlite3_exec(database_.handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

bool SqliteTransaction::Commit() {
  database_.commit_->Run();
  return database_.ok();
}

}  // namespace weir
