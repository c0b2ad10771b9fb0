#include "throttle/quota/sqlite/sqlite_log.h"

#include <utility>

#include "throttle/quota/sqlite/sqlite_schema.h"
#include "throttle/quota/sqlite/sqlite_tier.h"
#include "throttle/quota/window_log.h"

namespace weir {
namespace {

constexpr int64_t kMinuteNs = kMinute.count();

WallTime ToTime(int64_t ts) { return WallTime(Duration(ts)); }

}  // namespace

SqliteLog::SqliteLog(SqliteDatabase& database, const std::string& table)
    : by_time_(database, "SELECT ts, count, rowid FROM " + table + " WHERE model = ?1 AND ts >= ?2 ORDER BY ts"),
      insert_(database, "INSERT INTO " + table + "(model, ts, count) VALUES(?1, ?2, ?3)"),
      clear_(database, "DELETE FROM " + table + " WHERE model = ?1"),
      set_sum_(database, "UPDATE weir_models SET " + table + " = ?2 WHERE model = ?1"),
      merge_(database, "UPDATE " + table + " SET ts = ?2, count = min(" + std::to_string(kMostAmount) +
                           ", max(0, count) + ?3) WHERE rowid = (SELECT rowid FROM " + table +
                           " WHERE model = ?1 ORDER BY ts DESC LIMIT 1)"),
      expire_(database, "DELETE FROM " + table + " WHERE model = ?1 AND ts <= ?2 RETURNING count"),
      step_back_(database, "UPDATE " + table + " SET ts = ?2 WHERE model = ?1 AND ts > ?2"),
      reduce_(database, "UPDATE " + table + " SET count = ?2 WHERE rowid = ?1") {}

void SqliteLog::Refresh(std::string_view model, int64_t now, SqliteLogState* state) {
  const bool uncounted = state->sum >= kSqliteUncounted;
  Expire(model, now, state);
  if (uncounted || state->rows > kSqliteMostEntries) CountAnew(model, now, state);
}

void SqliteLog::Expire(std::string_view model, int64_t now, SqliteLogState* state) {
  if (state->rows <= 0) return;
  SqliteRows gone = expire_(model, now - kMinuteNs);
  while (gone.Next()) {
    state->sum -= SqliteAmount(gone, 0);
    --state->rows;
    ++state->gone;
  }
  if (state->rows <= 0) state->sum = 0;
}

// Where another program has written more than weir would keep, open reservations give nothing back to it: their entries
// are no more.
void SqliteLog::CountAnew(std::string_view model, int64_t now, SqliteLogState* state) {
  std::vector<ModelState::Entry> entries = Entries(model);
  if (state->rows > kSqliteMostEntries) {
    clear_.Run(model);
    entries = Restore(model, std::move(entries), now);
    state->gone += state->rows;
    state->rows = static_cast<int64_t>(entries.size());
    state->first = entries.empty() ? 0 : entries.back().time.time_since_epoch().count();
  }
  state->sum = 0;
  for (const ModelState::Entry& entry : entries) state->sum += entry.amount;
  set_sum_.Run(model, state->sum);
}

std::vector<ModelState::Entry> SqliteLog::Entries(std::string_view model) {
  std::vector<ModelState::Entry> entries;
  SqliteRows rows = by_time_(model, INT64_MIN);
  while (rows.Next())
    if (const int64_t amount = SqliteAmount(rows, 1); amount > 0)
      entries.push_back({.time = ToTime(rows.Int(0)), .amount = amount});
  return entries;
}

std::vector<ModelState::Entry> SqliteLog::Restore(std::string_view model, std::vector<ModelState::Entry> entries,
                                                  int64_t now) {
  WindowLog log(kMinute);
  log.Restore(std::move(entries), ToTime(now));
  entries = log.Entries();
  for (const auto& [time, amount] : entries) insert_.Run(model, int64_t{time.time_since_epoch().count()}, amount);
  return entries;
}

// The triggers keep the sums in the file; `state` is what they come to.
void SqliteLog::Add(std::string_view model, int64_t now, int64_t amount, SqliteLogState* state) {
  if (amount <= 0) return;
  if (SqliteMerges(state->rows, state->first, now, kMinuteNs)) {
    merge_.Run(model, now, amount);
  } else {
    insert_.Run(model, now, amount);
    state->first = now;
    ++state->rows;
  }
  state->sum += amount;
}

void SqliteLog::GiveBack(std::string_view model, int64_t entry, int64_t ts, int64_t amount, SqliteLogState* state) {
  if (entry <= state->gone) return;
  struct Part {
    int64_t row;
    int64_t count;
    int64_t left;
  };
  std::vector<Part> parts;
  int64_t missing = amount;
  {
    SqliteRows rows = by_time_(model, ts);
    while (missing > 0 && rows.Next()) {
      const int64_t count = SqliteAmount(rows, 1);
      const int64_t part = std::min(missing, count);
      if (part > 0) parts.push_back({.row = rows.Int(2), .count = part, .left = count - part});
      missing -= part;
    }
  }
  for (const Part& part : parts) {
    reduce_.Run(part.row, part.left);
    state->sum -= part.count;
  }
}

int64_t SqliteLog::WhenFreed(std::string_view model, int64_t amount) {
  SqliteRows rows = by_time_(model, INT64_MIN);
  int64_t ts = 0;
  while (amount > 0 && rows.Next()) {
    ts = rows.Int(0);
    amount -= SqliteAmount(rows, 1);
  }
  return ts + kMinuteNs;
}

}  // namespace weir
