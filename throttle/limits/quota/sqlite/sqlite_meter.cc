#include "throttle/limits/quota/sqlite/sqlite_meter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "throttle/limits/quota/quota.h"

namespace weir {
namespace {

// Reads an amount of a row, which may have been changed by hand.
int64_t Amount(const SqliteRows& row, int column) { return std::clamp<int64_t>(row.Int(column), 0, kMostAmount); }

constexpr const char* kColumns = "id, rate, amount, rest, rows, next, first, ts, pins";
std::string Select(const std::string& more) { return std::string("SELECT ") + kColumns + more; }

}  // namespace

SqliteMeter::SqliteMeter(std::string_view model, std::string_view key, const Limit& limit, int64_t now)
    : model_(model), key_(key), limit_(limit) {
  if (limit.kind == Limit::Kind::kBucket) bucket_.emplace(limit, SqliteTime(now));
}

int64_t SqliteMeter::used() const { return std::min(kMostAmount, bucket_ ? bucket_->lacks() : row_.amount); }

bool SqliteMeter::Fits(int64_t more, const Limit& limit) const {
  return bucket_ ? bucket_->Holds(more) : row_.amount + more <= std::min(kMostAmount, limit.amount);
}

void SqliteMeter::Unpin() { row_.pins = std::max<int64_t>(0, row_.pins - 1); }

bool SqliteMeter::MergesAt(int64_t now, bool is_short) const {
  return WindowLog::Merges(static_cast<size_t>(row_.rows), Duration(now - row_.first), limit_.per, is_short);
}

int64_t SqliteMeter::Until() const {
  if (IsOfCalendar(limit_)) return row_.amount == 0 ? 0 : per() + kPeriodKept.count();
  if (!bucket_) return row_.amount == 0 ? row_.ts : row_.ts + per();
  const int64_t now = SqliteNs(bucket_->now());
  return now + std::min(bucket_->UntilFull().count(), INT64_MAX - now);
}

SqliteMeters::SqliteMeters(SqliteDatabase& database)
    : database_(database),
      bytes_(database,
             "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, "
             "pragma_page_size"),
      by_name_(database,
               Select(" FROM weir_meters WHERE model = ?1 AND key = ?2 AND unit = ?3 AND kind = ?4 AND per = ?5")),
      by_id_(database, Select(", unit, kind, per FROM weir_meters WHERE id = ?1")),
      own_(database, Select(", unit FROM weir_meters WHERE model = ?1 AND key = ''")),
      insert_(database,
              "INSERT INTO weir_meters(model, key, unit, kind, per, rate, amount, rest, rows, next, first, ts, pins, "
              "until) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"),
      update_(database,
              "UPDATE weir_meters SET rate = ?2, amount = ?3, rest = ?4, rows = ?5, next = ?6, first = ?7, ts = ?8, "
              "pins = ?9, until = ?10 WHERE id = ?1"),
      add_(database, "INSERT INTO weir_entries(meter, number, ts, amount) VALUES(?1, ?2, ?3, ?4)"),
      entry_(database, "SELECT ts, amount FROM weir_entries WHERE meter = ?1 AND number = ?2"),
      set_(database, "UPDATE weir_entries SET ts = ?3, amount = ?4 WHERE meter = ?1 AND number = ?2"),
      expire_(database, "DELETE FROM weir_entries WHERE meter = ?1 AND number <= ?2"),
      step_back_(database, "UPDATE weir_entries SET ts = ?2 WHERE meter = ?1 AND ts > ?2"),
      entries_(database, "SELECT number, ts, amount FROM weir_entries WHERE meter = ?1 ORDER BY number") {}

void SqliteMeters::Read(const SqliteRows& row, SqliteMeter* meter) {
  meter->id_ = row.Int(0);
  meter->row_ = {.rate = std::clamp<int64_t>(row.Int(1), 1, kMostAmount),
                 .amount = std::max<int64_t>(0, row.Int(2)),
                 .rest = std::max<int64_t>(0, row.Int(3)),
                 .rows = std::max<int64_t>(0, row.Int(4)),
                 .next = row.Int(5),
                 .first = row.Int(6),
                 .ts = row.Int(7),
                 .pins = row.Int(8)};
  meter->stored_ = meter->row_;
}

void SqliteMeters::LookAtSize(size_t most_bytes) {
  SqliteRows row = bytes_();
  if (row.Next()) is_short_ = row.Int(0) > static_cast<int64_t>(most_bytes);
}

SqliteMeter SqliteMeters::Load(std::string_view model, std::string_view key, const Limit& limit, int64_t now) {
  SqliteMeter meter(model, key, limit, now);
  {
    SqliteRows row =
        by_name_(model, key, static_cast<int64_t>(limit.unit), static_cast<int64_t>(limit.kind), LengthOrDate(limit));
    if (row.Next()) Read(row, &meter);
  }
  if (IsOfCalendar(limit)) meter.row_.ts = meter.per();
  if (meter.has_row()) Refresh(&meter, now);
  if (meter.bucket_) meter.bucket_->Follow(limit);
  return meter;
}

std::optional<SqliteMeter> SqliteMeters::Load(int64_t id, int64_t now) {
  SqliteMeter meter("", "", {}, now);
  {
    SqliteRows row = by_id_(id);
    if (!row.Next()) return {};
    Read(row, &meter);
    Limit& limit = meter.limit_;
    limit = {.unit = static_cast<Limit::Unit>(row.Int(9)), .kind = static_cast<Limit::Kind>(row.Int(10))};
    limit.date = IsOfCalendar(limit) ? row.Int(11) : 0;
    limit.per = Duration(std::max<int64_t>(1, IsOfCalendar(limit) ? meter.row_.ts : row.Int(11)));
  }
  Refresh(&meter, now);
  return meter;
}

void SqliteMeters::LoadOwn(std::string_view model, int64_t now, SqliteMeter* requests, SqliteMeter* tokens) {
  {
    SqliteRows rows = own_(model);
    while (rows.Next()) Read(rows, rows.Int(9) == static_cast<int64_t>(Limit::Unit::kRequests) ? requests : tokens);
  }
  for (SqliteMeter* meter : {requests, tokens})
    if (meter->has_row()) Refresh(meter, now);
}

void SqliteMeters::Refresh(SqliteMeter* meter, int64_t now) {
  SqliteMeter::Row& row = meter->row_;
  if (IsOfCalendar(meter->limit_)) return;
  if (meter->limit_.kind == Limit::Kind::kBucket) {
    Limit limit = meter->limit_;  // the limit with which the bucket was last asked
    limit.amount = limit.burst = row.rate;
    meter->bucket_.emplace(limit, SqliteTime(row.ts), row.amount * RefilledBucket::Parts(meter->per()) + row.rest);
    meter->bucket_->Advance(SqliteTime(now));
    return;
  }
  if (row.ts > now) {
    step_back_.Run(meter->id_, now);
    row.ts = now;
    row.first = std::min(row.first, now);
  }
  if (row.rows == 0) return;
  int64_t last = 0;
  {
    SqliteRows rows = entries_(meter->id_);
    while (rows.Next() && rows.Int(1) <= now - meter->per()) {
      last = rows.Int(0);
      row.amount -= Amount(rows, 2);
      --row.rows;
    }
  }
  if (last != 0) expire_.Run(meter->id_, last);
  if (row.rows == 0) row.amount = 0;
}

void SqliteMeters::Save(SqliteMeter* meter) {
  SqliteMeter::Row& row = meter->row_;
  if (meter->bucket_) {
    const RefilledBucket::Parts debt = meter->bucket_->debt();
    row.rate = meter->bucket_->rate();
    row.amount = static_cast<int64_t>(debt / meter->per());
    row.rest = static_cast<int64_t>(debt % meter->per());
    row.ts = debt == 0 ? 0 : SqliteNs(meter->bucket_->now());
  }
  if (meter->has_row() && row == meter->stored_) return;
  if (meter->has_row()) {
    update_.Run(meter->id_, row.rate, row.amount, row.rest, row.rows, row.next, row.first, row.ts, row.pins,
                meter->Until());
  } else {
    insert_.Run(meter->model_, meter->key_, static_cast<int64_t>(meter->limit_.unit),
                static_cast<int64_t>(meter->limit_.kind), LengthOrDate(meter->limit_), row.rate, row.amount, row.rest,
                row.rows, row.next, row.first, row.ts, row.pins, meter->Until());
    meter->id_ = database_.last_id();
  }
  meter->stored_ = row;
}

int64_t SqliteMeters::Add(SqliteMeter* meter, int64_t now, int64_t amount) {
  if (amount <= 0) return 0;
  if (meter->bucket_) {
    meter->bucket_->Take(amount);
    return 0;
  }
  SqliteMeter::Row& row = meter->row_;
  if (IsOfCalendar(meter->limit_)) {
    row.amount = AddAmounts(row.amount, amount);
    return 0;
  }
  if (!meter->MergesAt(now, is_short_)) {
    Append(meter, now, amount);
  } else {
    int64_t before = 0;
    if (SqliteRows newest = entry_(meter->id_, row.next - 1); newest.Next()) before = Amount(newest, 1);
    const int64_t after = AddAmounts(before, amount);
    set_.Run(meter->id_, row.next - 1, now, after);
    row.amount += after - before;
    row.ts = now;
  }
  return row.next - 1;
}

void SqliteMeters::Append(SqliteMeter* meter, int64_t ts, int64_t amount) {
  if (!meter->has_row()) Save(meter);  // the entries need the id of the row
  SqliteMeter::Row& row = meter->row_;
  add_.Run(meter->id_, row.next++, ts, amount);
  row.amount += amount;
  row.ts = row.first = ts;
  ++row.rows;
}

void SqliteMeters::GiveBack(SqliteMeter* meter, int64_t entry, int64_t ts, int64_t now, int64_t added, int64_t amount) {
  if (amount <= 0) return;
  if (meter->bucket_) return meter->bucket_->GiveBack(amount, added, Duration(now - ts));
  if (IsOfCalendar(meter->limit_)) {
    meter->row_.amount -= std::min(meter->row_.amount, amount);
    return;
  }
  int64_t entry_ts = 0;
  int64_t left = 0;
  {
    SqliteRows row = entry_(meter->id_, entry);
    if (!row.Next()) return;
    entry_ts = row.Int(0);
    left = Amount(row, 1);
  }
  const int64_t given = std::min(amount, left);
  set_.Run(meter->id_, entry, entry_ts, left - given);
  meter->row_.amount -= given;
}

Duration SqliteMeters::UntilFits(const SqliteMeter& meter, int64_t now, int64_t amount, const Limit& limit) {
  if (meter.bucket_) return meter.bucket_->UntilHolds(amount);
  if (IsOfCalendar(meter.limit_)) return Duration(meter.per() - now);
  int64_t to_free = meter.row_.amount + amount - std::min(kMostAmount, limit.amount);
  SqliteRows rows = entries_(meter.id_);
  int64_t ts = now;
  while (to_free > 0 && rows.Next()) {
    ts = rows.Int(1);
    to_free -= Amount(rows, 2);
  }
  return Duration(ts + meter.per() - now);
}

std::vector<ModelState::Entry> SqliteMeters::Entries(const SqliteMeter& meter) {
  std::vector<ModelState::Entry> entries;
  SqliteRows rows = entries_(meter.id_);
  while (rows.Next())
    if (const int64_t amount = Amount(rows, 2); amount > 0)
      entries.push_back({.time = SqliteTime(rows.Int(1)), .amount = amount});
  return entries;
}

void SqliteMeters::Restore(SqliteMeter* meter, std::vector<ModelState::Entry> entries, int64_t now) {
  WindowLog log(meter->limit_.per);
  log.Restore(std::move(entries), SqliteTime(now));
  for (const auto& [time, amount] : log.Entries()) Append(meter, SqliteNs(time), amount);
}

}  // namespace weir
