#include "throttle/limits/quota/sqlite/sqlite_schema.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/text/parse.h"
#include "throttle/limits/quota/sqlite/sqlite_model.h"

namespace weir {
namespace {

// "weir" in ASCII: marks the file as weir's (PRAGMA application_id).
constexpr int64_t kApplicationId = 0x77656972;
// From this form on, requests, tokens and daily are views.
constexpr int64_t kMovedForm = 4;
constexpr int64_t kMoneyForm = 5;

// The tables of the published program. Those that are missing are made.
constexpr std::string_view kPublishedTables = R"sql(
CREATE TABLE IF NOT EXISTS quotas(
  model TEXT PRIMARY KEY,
  max_rpm INTEGER NOT NULL DEFAULT 0,
  max_tpm INTEGER NOT NULL DEFAULT 0,
  max_rpd INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS requests(model TEXT NOT NULL, ts INTEGER NOT NULL, count INTEGER NOT NULL DEFAULT 1);
CREATE TABLE IF NOT EXISTS tokens(model TEXT NOT NULL, ts INTEGER NOT NULL, count INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS daily(
  model TEXT PRIMARY KEY,
  day_start INTEGER NOT NULL,
  day_count INTEGER NOT NULL DEFAULT 0);
)sql";

// weir_models: `days` is the number of days that have ended, by which a reservation recognises its own day; `seen` is
// the latest time at which a reservation was made; `bounded` is 1 if the model had no quota when its row was made, and
// has got none since, neither in `quotas` nor from a charge. weir_counts: the number of models with `bounded` 1 and the
// number of tier counters, because SQLite would have to count the rows one by one. weir_meters: rows without a key are
// the model's own counters; `pins` is the number of reservations that have pinned a tier counter; entries have numbers
// from 1, which never change; a day or month has its date in `per` and its end in `ts`. weir_ended: how reservations
// ended; the `tiers` of expired reservations are still pinned. weir_configured: models whose quota was last stated by a
// configuration.
constexpr std::string_view kOwnTables = R"sql(
CREATE TABLE weir_models(
  model TEXT PRIMARY KEY,
  day_start INTEGER NOT NULL,
  day_count INTEGER NOT NULL,
  days INTEGER NOT NULL,
  seen INTEGER NOT NULL,
  open INTEGER NOT NULL,
  bounded INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE weir_meters(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  model TEXT NOT NULL,
  key TEXT NOT NULL,
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
  UNIQUE(model, key, unit, kind, per));
CREATE TABLE weir_entries(
  meter INTEGER NOT NULL,
  number INTEGER NOT NULL,
  ts INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY(meter, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS weir_reservations(
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
CREATE INDEX IF NOT EXISTS weir_reservations_deadline ON weir_reservations(model, deadline);
CREATE TABLE IF NOT EXISTS weir_ended(
  id TEXT PRIMARY KEY,
  model TEXT NOT NULL,
  how INTEGER NOT NULL,
  late INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  actual INTEGER NOT NULL,
  tiers TEXT NOT NULL,
  kept_until INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS weir_ended_kept ON weir_ended(model, kept_until);
CREATE TABLE IF NOT EXISTS weir_ended_counts(model TEXT PRIMARY KEY, ended INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS weir_configured(model TEXT PRIMARY KEY) WITHOUT ROWID;
)sql";

// Form 5 adds to form 4 the money of a reservation, and its use so far.
constexpr std::string_view kMoney = R"sql(
ALTER TABLE weir_reservations ADD COLUMN money INTEGER NOT NULL DEFAULT 0;
ALTER TABLE weir_reservations ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
ALTER TABLE weir_reservations ADD COLUMN used_money INTEGER NOT NULL DEFAULT 0;
ALTER TABLE weir_ended ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
ALTER TABLE weir_ended ADD COLUMN used_money INTEGER NOT NULL DEFAULT 0;
)sql";

// Form 6 adds to form 5 a mark of named reservations, the number of named reservations that have ended, and an index of
// deadlines over all models.
constexpr std::string_view kNames = R"sql(
ALTER TABLE weir_reservations ADD COLUMN named INTEGER NOT NULL DEFAULT 0;
ALTER TABLE weir_ended ADD COLUMN named INTEGER NOT NULL DEFAULT 0;
ALTER TABLE weir_ended_counts ADD COLUMN named INTEGER NOT NULL DEFAULT 0;
CREATE INDEX weir_reservations_due ON weir_reservations(deadline);
DROP INDEX weir_ended_kept;
CREATE INDEX weir_ended_kept ON weir_ended(model, named, kept_until);
DROP TRIGGER weir_ended_more;
CREATE TRIGGER weir_ended_more AFTER INSERT ON weir_ended BEGIN
  INSERT INTO weir_ended_counts VALUES(NEW.model, 1 - NEW.named, NEW.named) ON CONFLICT(model) DO UPDATE
    SET ended = ended + 1 - NEW.named, named = named + NEW.named;
END;
DROP TRIGGER weir_ended_less;
CREATE TRIGGER weir_ended_less AFTER DELETE ON weir_ended BEGIN
  UPDATE weir_ended_counts SET ended = ended - 1 + OLD.named, named = named - OLD.named WHERE model = OLD.model;
  DELETE FROM weir_ended_counts WHERE model = OLD.model AND ended + named <= 0;
END;
)sql";

// The data of forms 1 to 3 that must be kept. `…_gone` is the number of entries that have left a log.
constexpr std::string_view kFormerTables = R"sql(
CREATE TABLE weir_former(model TEXT PRIMARY KEY, requests_gone INTEGER NOT NULL DEFAULT 0,
  tokens_gone INTEGER NOT NULL DEFAULT 0, days INTEGER NOT NULL DEFAULT 0, seen INTEGER NOT NULL DEFAULT 0,
  open INTEGER NOT NULL DEFAULT 0, bounded INTEGER NOT NULL DEFAULT 0);
CREATE TABLE weir_counts(models INTEGER NOT NULL, tiers INTEGER NOT NULL);
INSERT INTO weir_counts VALUES(0, 0);
)sql";
constexpr std::string_view kMoveTiers = R"sql(
INSERT INTO weir_meters SELECT id, model, key, unit, kind, per, rate, amount, rest, rows, next, first, ts, pins, until
  FROM weir_tiers;
INSERT INTO weir_entries SELECT tier, number, ts, amount FROM weir_tier_entries;
DROP TABLE weir_tiers;
DROP TABLE weir_tier_entries;
)sql";
constexpr std::string_view kMoveModels = R"sql(
INSERT OR IGNORE INTO weir_former(model, bounded)
  SELECT model, NOT EXISTS (SELECT 1 FROM quotas q WHERE q.model = u.model)
  FROM (SELECT model FROM requests UNION SELECT model FROM tokens UNION SELECT model FROM daily) u;
INSERT INTO weir_models
  SELECT f.model, max(0, CAST(coalesce(day_start, 0) AS INTEGER)),
    min(max(CAST(coalesce(day_count, 0) AS INTEGER), 0), MUCH), days, seen, open, bounded
  FROM weir_former f LEFT JOIN daily d ON d.model = f.model;
UPDATE weir_counts SET models = (SELECT count(*) FROM weir_models WHERE bounded);
)sql";

// Moves the log LOG (requests or tokens). Accepts any row: reduces times to at most NOW, and clamps amounts to 0 ..
// MUCH. If a log has more than MOST rows, merges the rows of each 1024th of a minute (WindowLog::Granule).
constexpr std::string_view kMoveLog = R"sql(
CREATE TABLE weir_moved AS
  SELECT model, max(number) AS number, max(ts) AS ts, CAST(min(total(amount), MUCH) AS INTEGER) AS amount
  FROM (SELECT l.model, min(CAST(ts AS INTEGER), NOW) AS ts, min(max(CAST(count AS INTEGER), 0), MUCH) AS amount,
          count(*) OVER (PARTITION BY l.model) AS rows,
          LOG_gone + row_number() OVER (PARTITION BY l.model ORDER BY ts, l.rowid) AS number
        FROM LOG l JOIN weir_former f ON f.model = l.model)
  WHERE ts > NOW - MINUTE GROUP BY model, CASE WHEN rows > MOST THEN ts / (MINUTE / 1024) ELSE number END;
INSERT INTO weir_meters(model, key, unit, kind, per, rate, amount, rest, rows, next, first, ts, pins, until)
  SELECT f.model, '', UNIT, 0, MINUTE, 1, coalesce(sum(amount), 0), 0, count(ts), coalesce(max(number), LOG_gone) + 1,
    coalesce(max(ts), 0), coalesce(max(ts), 0), 0, coalesce(max(ts), 0) + MINUTE
  FROM weir_former f LEFT JOIN weir_moved e ON e.model = f.model GROUP BY f.model;
INSERT INTO weir_entries
  SELECT id, number, e.ts, e.amount FROM weir_moved e JOIN weir_meters m ON m.model = e.model
  WHERE m.key = '' AND m.unit = UNIT;
DROP TABLE weir_moved;
DROP TABLE LOG;
CREATE VIEW LOG AS SELECT model, e.ts, e.amount AS count
  FROM weir_meters m JOIN weir_entries e ON e.meter = m.id WHERE m.key = '' AND m.unit = UNIT;
)sql";

constexpr std::string_view kViewAndTriggers = R"sql(
DROP TABLE weir_former;
DROP TABLE daily;
CREATE VIEW daily AS SELECT model, day_start, day_count FROM weir_models WHERE day_count > 0;
CREATE TRIGGER weir_models_more AFTER INSERT ON weir_models WHEN NEW.bounded BEGIN
  UPDATE weir_counts SET models = models + 1; END;
CREATE TRIGGER weir_models_less AFTER DELETE ON weir_models WHEN OLD.bounded BEGIN
  UPDATE weir_counts SET models = models - 1; END;
CREATE TRIGGER weir_models_known AFTER UPDATE OF bounded ON weir_models BEGIN
  UPDATE weir_counts SET models = models + NEW.bounded - OLD.bounded; END;
CREATE TRIGGER weir_tiers_more AFTER INSERT ON weir_meters WHEN NEW.key <> '' BEGIN
  UPDATE weir_counts SET tiers = tiers + 1; END;
CREATE TRIGGER weir_tiers_less AFTER DELETE ON weir_meters WHEN OLD.key <> '' BEGIN
  UPDATE weir_counts SET tiers = tiers - 1; END;
CREATE TRIGGER IF NOT EXISTS weir_ended_more AFTER INSERT ON weir_ended BEGIN
  INSERT INTO weir_ended_counts VALUES(NEW.model, 1) ON CONFLICT(model) DO UPDATE SET ended = ended + 1;
END;
CREATE TRIGGER IF NOT EXISTS weir_ended_less AFTER DELETE ON weir_ended BEGIN
  UPDATE weir_ended_counts SET ended = ended - 1 WHERE model = OLD.model;
  DELETE FROM weir_ended_counts WHERE model = OLD.model AND ended <= 0;
END;
)sql";

struct TableForm {
  std::string_view name;
  std::vector<std::string_view> numbers;
  bool by_model = false;  // true if the model is its primary key
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

int64_t OneNumber(SqliteDatabase& database, const std::string& sql) {
  SqliteQuery query(database, sql);
  SqliteRows rows = query();
  return rows.Next() ? rows.Int(0) : 0;
}

struct Column {
  std::string type;
  bool required = false;  // true if an INSERT must name it
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

// Returns what is wrong with a table that has a name of the published program; empty if the table is right.
std::string WrongForm(SqliteDatabase& database, const TableForm& form) {
  const auto columns = ColumnsOf(database, form.name);
  if (columns.empty()) return "";  // there is no such table yet
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
  if (version >= kMovedForm) return {};
  SqliteQuery views(database, "SELECT type, name FROM sqlite_master WHERE type <> 'table' AND name = ?1");
  for (const TableForm& form : PublishedForms()) {
    if (views(form.name).Next()) return refuse(std::string(form.name) + " is not a table");
    const std::string wrong = WrongForm(database, form);
    if (!wrong.empty()) return refuse(wrong);
  }
  return {};
}

// Converts any form before form 4, including that of the published program, to form 4.
void MakeTables(SqliteDatabase& database, int64_t version, int64_t now) {
  const auto move = [&](std::string_view sql, std::string_view log = "", Limit::Unit unit = {}) {
    std::string text(sql);
    for (const auto& [word, by] : std::initializer_list<std::pair<std::string_view, std::string>>{
             {"LOG", std::string(log)},
             {"UNIT", std::to_string(static_cast<int>(unit))},
             {"NOW", std::to_string(now)},
             {"MINUTE", std::to_string(kMinute.count())},
             {"MOST", std::to_string(WindowLog::kMostEntries)},
             {"MUCH", std::to_string(kMostAmount)}})
      text = Replace(std::move(text), word, by);
    database.Execute(text);
  };
  move(kPublishedTables);
  if (!ColumnsOf(database, "requests").contains("count"))
    database.Execute("ALTER TABLE requests ADD COLUMN count INTEGER NOT NULL DEFAULT 1");
  move(version > 0 ? "ALTER TABLE weir_models RENAME TO weir_former" : kFormerTables);
  move(kOwnTables);
  if (version > 0) move(kMoveTiers);
  move(kMoveModels);
  move(kMoveLog, "requests", Limit::Unit::kRequests);
  move(kMoveLog, "tokens", Limit::Unit::kTokens);
  move(kViewAndTriggers);
  database.Execute("PRAGMA application_id = " + std::to_string(kApplicationId));
}

void CheckQuotas(SqliteDatabase& database) {
  SqliteQuery wrong(database,
                    "SELECT max_rpm, max_tpm, max_rpd, model FROM quotas WHERE min(max_rpm, max_tpm, max_rpd) < 0");
  SqliteRows row = wrong();
  if (row.Next()) (void)ReadSqliteQuota(database, row.Text(3), row, 0);
}

Status PrepareTables(SqliteDatabase& database, int64_t now) {
  SqliteTransaction transaction(database);
  const int64_t version = OneNumber(database, "PRAGMA user_version");
  Status status = CheckForms(database, version);
  if (!database.ok()) return Status::Error(database.problem());
  if (!status.ok()) return status;
  if (version < kSqliteSchemaVersion) {
    if (version < kMovedForm) MakeTables(database, version, now);
    if (version < kMoneyForm) database.Execute(std::string(kMoney));
    database.Execute(std::string(kNames));
    database.Execute("PRAGMA user_version = " + std::to_string(kSqliteSchemaVersion));
  }
  CheckQuotas(database);
  if (!transaction.Commit()) return Status::Error(database.problem());
  return {};
}

Status SetUp(SqliteDatabase& database, int64_t now) {
  // The process that opens the file first switches it to WAL, once. All other settings belong to the connection.
  Status made = PrepareTables(database, now);
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

Status PrepareSqliteSchema(SqliteDatabase& database, std::chrono::milliseconds patience, int64_t now) {
  // When several processes open a new file at once, SQLite refuses the switch to WAL at once, instead of waiting.
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    database.ForgetProblem();
    Status status = SetUp(database, now);
    if (status.ok() || !database.was_busy() || std::chrono::steady_clock::now() >= deadline) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace weir
