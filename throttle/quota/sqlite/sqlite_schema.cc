#include "throttle/quota/sqlite/sqlite_schema.h"

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/parse.h"
#include "throttle/quota/sqlite/sqlite_model.h"

namespace weir {
namespace {

// "weir" in ASCII: whose file it is (PRAGMA application_id).
constexpr int64_t kApplicationId = 0x77656972;

constexpr std::string_view kPublishedTables = R"sql(
CREATE TABLE IF NOT EXISTS quotas(
  model TEXT PRIMARY KEY,
  max_rpm INTEGER NOT NULL DEFAULT 0,
  max_tpm INTEGER NOT NULL DEFAULT 0,
  max_rpd INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS requests(
  model TEXT NOT NULL,
  ts INTEGER NOT NULL,
  count INTEGER NOT NULL DEFAULT 1);
CREATE TABLE IF NOT EXISTS tokens(
  model TEXT NOT NULL,
  ts INTEGER NOT NULL,
  count INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS daily(
  model TEXT PRIMARY KEY,
  day_start INTEGER NOT NULL,
  day_count INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS idx_requests_model_ts ON requests(model, ts);
CREATE INDEX IF NOT EXISTS idx_tokens_model_ts ON tokens(model, ts);
)sql";

// weir_models has the sums of the logs, so that a decision reads one row whatever is in the window; `…_first` is when
// the newest entry of a log began, `…_gone` how many entries have left it, `days` how many days have ended:
// reservations know their entries and their day by these numbers. `seen` is the latest time that the model's rows know;
// `bounded` is 1 of a model that was new without a quota. weir_counts has how many of those there are, and how many
// tiers, which SQLite would count one by one. weir_tiers.pins: the open reservations that hold the tier.
constexpr std::string_view kOwnTables = R"sql(
CREATE TABLE weir_counts(models INTEGER NOT NULL, tiers INTEGER NOT NULL);
INSERT INTO weir_counts VALUES(0, 0);
CREATE TABLE weir_models(
  model TEXT PRIMARY KEY,
  requests INTEGER NOT NULL DEFAULT 0,
  requests_rows INTEGER NOT NULL DEFAULT 0,
  requests_first INTEGER NOT NULL DEFAULT 0,
  requests_gone INTEGER NOT NULL DEFAULT 0,
  tokens INTEGER NOT NULL DEFAULT 0,
  tokens_rows INTEGER NOT NULL DEFAULT 0,
  tokens_first INTEGER NOT NULL DEFAULT 0,
  tokens_gone INTEGER NOT NULL DEFAULT 0,
  days INTEGER NOT NULL DEFAULT 0,
  seen INTEGER NOT NULL DEFAULT 0,
  open INTEGER NOT NULL DEFAULT 0,
  bounded INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE weir_tiers(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  model TEXT NOT NULL,
  key TEXT NOT NULL,
  meter TEXT NOT NULL,
  unit INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  per INTEGER NOT NULL,
  rate INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  rest INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  next INTEGER NOT NULL,
  first INTEGER NOT NULL,
  ts INTEGER NOT NULL,
  pins INTEGER NOT NULL,
  until INTEGER NOT NULL,
  UNIQUE(model, key, meter));
CREATE TABLE weir_tier_entries(
  tier INTEGER NOT NULL,
  number INTEGER NOT NULL,
  ts INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY(tier, number)) WITHOUT ROWID;
CREATE TABLE weir_reservations(
  id TEXT PRIMARY KEY,
  model TEXT NOT NULL,
  ts INTEGER NOT NULL,
  deadline INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  request_entry INTEGER NOT NULL,
  token_entry INTEGER NOT NULL,
  day INTEGER NOT NULL,
  tiers TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX weir_reservations_deadline ON weir_reservations(model, deadline);
CREATE TRIGGER weir_models_more AFTER INSERT ON weir_models WHEN NEW.bounded BEGIN
  UPDATE weir_counts SET models = models + 1; END;
CREATE TRIGGER weir_models_less AFTER DELETE ON weir_models WHEN OLD.bounded BEGIN
  UPDATE weir_counts SET models = models - 1; END;
CREATE TRIGGER weir_models_known AFTER UPDATE OF bounded ON weir_models BEGIN
  UPDATE weir_counts SET models = models + NEW.bounded - OLD.bounded; END;
CREATE TRIGGER weir_tiers_more AFTER INSERT ON weir_tiers BEGIN UPDATE weir_counts SET tiers = tiers + 1; END;
CREATE TRIGGER weir_tiers_less AFTER DELETE ON weir_tiers BEGIN UPDATE weir_counts SET tiers = tiers - 1; END;
CREATE TRIGGER weir_daily_in AFTER INSERT ON daily BEGIN
  INSERT INTO weir_models(model, seen) VALUES(NEW.model, NEW.day_start)
  ON CONFLICT(model) DO UPDATE SET seen = max(seen, NEW.day_start);
END;
CREATE TRIGGER weir_daily_out AFTER DELETE ON daily BEGIN
  UPDATE weir_models SET days = days + 1 WHERE model = OLD.model;
END;
INSERT INTO weir_models(model, seen) SELECT model, day_start FROM daily WHERE true ON CONFLICT DO NOTHING;
)sql";

// For the log LOG (requests or tokens), with what it has already; also in the place of those of form 1. Whatever a row
// says, it counts as ADDED or REMOVED: an amount. A log without rows has the sum 0.
constexpr std::string_view kLogTriggers = R"sql(
DROP TRIGGER IF EXISTS weir_LOG_in;
DROP TRIGGER IF EXISTS weir_LOG_changed;
DROP TRIGGER IF EXISTS weir_LOG_out;
CREATE TRIGGER weir_LOG_in AFTER INSERT ON LOG BEGIN
  INSERT INTO weir_models(model, LOG, LOG_rows, LOG_first, seen) VALUES(NEW.model, ADDED, 1, NEW.ts, NEW.ts)
  ON CONFLICT(model) DO UPDATE SET LOG = min(UNCOUNTED, LOG + ADDED), LOG_rows = LOG_rows + 1,
    LOG_first = max(LOG_first, NEW.ts), seen = max(seen, NEW.ts);
END;
CREATE TRIGGER weir_LOG_changed AFTER UPDATE ON LOG BEGIN
  UPDATE weir_models SET LOG = CASE WHEN LOG >= UNCOUNTED THEN UNCOUNTED ELSE LOG + ADDED - REMOVED END,
    seen = max(seen, NEW.ts) WHERE model = NEW.model;
END;
CREATE TRIGGER weir_LOG_out AFTER DELETE ON LOG BEGIN
  UPDATE weir_models SET
    LOG = CASE WHEN LOG_rows <= 1 THEN 0 WHEN LOG >= UNCOUNTED THEN UNCOUNTED ELSE LOG - REMOVED END,
    LOG_rows = LOG_rows - 1, LOG_gone = LOG_gone + 1,
    LOG_first = CASE WHEN OLD.ts >= LOG_first THEN 0 ELSE LOG_first END WHERE model = OLD.model;
END;
UPDATE weir_models SET LOG = 0, LOG_rows = 0, LOG_first = 0;
INSERT INTO weir_models(model, LOG, LOG_rows, LOG_first, seen)
  SELECT model, UNCOUNTED, count(*), max(ts), max(ts) FROM LOG WHERE true GROUP BY model
  ON CONFLICT(model) DO UPDATE SET LOG = excluded.LOG, LOG_rows = excluded.LOG_rows, LOG_first = excluded.LOG_first,
    seen = max(seen, excluded.seen);
)sql";

struct TableForm {
  std::string_view name;
  std::vector<std::string_view> numbers;
  bool by_model = false;  // whose primary key is the model
};

const std::vector<TableForm>& PublishedForms() {
  static const std::vector<TableForm> kForms = {{"quotas", {"max_rpm", "max_tpm", "max_rpd"}, true},
                                                {"requests", {"ts"}},
                                                {"tokens", {"ts", "count"}},
                                                {"daily", {"day_start", "day_count"}, true}};
  return kForms;
}

std::string Replace(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

std::string LogTriggers(std::string_view log) {
  const auto amount = [](const std::string& count) {
    return "min(max(CAST(" + count + " AS INTEGER), 0), " + std::to_string(kMostAmount) + ")";
  };
  std::string sql = Replace(std::string(kLogTriggers), "LOG", log);
  sql = Replace(std::move(sql), "UNCOUNTED", std::to_string(kSqliteUncounted));
  sql = Replace(std::move(sql), "ADDED", amount("NEW.count"));
  return Replace(std::move(sql), "REMOVED", amount("OLD.count"));
}

int64_t OneNumber(SqliteDatabase& database, const std::string& sql) {
  SqliteQuery query(database, sql);
  SqliteRows rows = query();
  return rows.Next() ? rows.Int(0) : 0;
}

struct Column {
  std::string type;
  bool required = false;  // an INSERT must name it
  bool key = false;
};

std::map<std::string, Column, std::less<>> ColumnsOf(SqliteDatabase& database, std::string_view table) {
  std::map<std::string, Column, std::less<>> columns;
  SqliteQuery query(database, "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?1)");
  SqliteRows rows = query(table);
  while (rows.Next()) {
    columns[std::string(rows.Text(0))] = {
        .type = std::string(rows.Text(1)), .required = rows.Int(2) != 0 && rows.IsNull(3), .key = rows.Int(4) != 0};
  }
  return columns;
}

// Empty, or what is wrong with a table of a published name.
std::string WrongForm(SqliteDatabase& database, const TableForm& form) {
  const auto columns = ColumnsOf(database, form.name);
  if (columns.empty()) return "";  // there is none yet
  const std::string table = "the table " + std::string(form.name);
  const auto model = columns.find("model");
  if (model == columns.end()) return table + " has no column model";
  if (form.by_model && !model->second.key) return table + " does not have the column model as its primary key";
  for (const std::string_view number : form.numbers) {
    const auto column = columns.find(number);
    if (column == columns.end()) return table + " has no column " + std::string(number);
    std::string type = column->second.type;
    std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::toupper(c); });
    if (type.find("INT") == type.npos)
      return table + " has " + Printable(column->second.type) + " in the column " + std::string(number) +
             ", expected INTEGER";
  }
  for (const auto& [name, column] : columns) {
    const bool ours = name == "model" || name == "count" || std::ranges::count(form.numbers, name) > 0;
    if (!ours && column.required) return table + " has the column " + Printable(name) + ", which weir cannot fill";
  }
  return "";
}

Status CheckForms(SqliteDatabase& database, int64_t version) {
  const auto refuse = [&](const std::string& why) {
    return Status::Error(database.path() + ": this is another program's file: " + why + "; name another file");
  };
  const int64_t application = OneNumber(database, "PRAGMA application_id");
  if (application == kApplicationId && version > kSqliteSchemaVersion)
    return Status::Error(database.path() + ": a newer version of weir has written it (form " + std::to_string(version) +
                         ", this one knows " + std::to_string(kSqliteSchemaVersion) + "); use that version");
  if (application != 0 && application != kApplicationId)
    return refuse("its application id is " + std::to_string(application));
  if (application == 0 && version != 0) return refuse("its user_version is " + std::to_string(version));
  SqliteQuery views(database, "SELECT type, name FROM sqlite_master WHERE type <> 'table' AND name = ?1");
  for (const TableForm& form : PublishedForms()) {
    if (views(form.name).Next()) return refuse(std::string(form.name) + " is not a table");
    const std::string wrong = WrongForm(database, form);
    if (!wrong.empty()) return refuse(wrong);
  }
  return {};
}

void MakeTables(SqliteDatabase& database, int64_t version) {
  database.Execute(std::string(kPublishedTables));
  if (!ColumnsOf(database, "requests").contains("count"))
    database.Execute("ALTER TABLE requests ADD COLUMN count INTEGER NOT NULL DEFAULT 1");
  if (version == 0) database.Execute(std::string(kOwnTables));
  for (const std::string_view log : {"requests", "tokens"}) database.Execute(LogTriggers(log));
  database.Execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  database.Execute("PRAGMA user_version = " + std::to_string(kSqliteSchemaVersion));
}

void CheckQuotas(SqliteDatabase& database) {
  SqliteQuery wrong(database,
                    "SELECT max_rpm, max_tpm, max_rpd, model FROM quotas WHERE min(max_rpm, max_tpm, max_rpd) < 0");
  SqliteRows row = wrong();
  if (row.Next()) (void)ReadSqliteQuota(database, row.Text(3), row, 0);
}

Status PrepareTables(SqliteDatabase& database) {
  SqliteTransaction transaction(database);
  const int64_t version = OneNumber(database, "PRAGMA user_version");
  Status status = CheckForms(database, version);
  if (!database.ok()) return Status::Error(database.problem());
  if (!status.ok()) return status;
  if (version < kSqliteSchemaVersion) MakeTables(database, version);
  CheckQuotas(database);
  if (!transaction.Commit()) return Status::Error(database.problem());
  return {};
}

Status SetUp(SqliteDatabase& database) {
  // WAL is switched on once for the file, by who opens it first; all else is the connection's.
  Status made = PrepareTables(database);
  if (!made.ok()) return made;
  SqliteQuery wal(database, "PRAGMA journal_mode = WAL");
  std::string mode;
  if (SqliteRows rows = wal(); rows.Next()) mode = rows.Text(0);
  database.Execute("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -16384");
  if (!database.ok()) return Status::Error(database.problem());
  if (mode != "wal")
    return Status::Error(database.path() + ": its file system has no shared memory for SQLite's WAL (it says \"" +
                         mode + "\"); name a file on a local disk");
  return {};
}

}  // namespace

Status PrepareSqliteSchema(SqliteDatabase& database, std::chrono::milliseconds patience) {
  // When several processes open a new file at once, SQLite refuses to switch to WAL without waiting.
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    database.ForgetProblem();
    Status status = SetUp(database);
    if (status.ok() || !database.was_busy() || std::chrono::steady_clock::now() >= deadline) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace weir
