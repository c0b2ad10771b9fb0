#include "throttle/limits/quota/sqlite/sqlite_model.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "throttle/limits/quota/charge_amounts.h"

namespace weir {
namespace {

// Returns the parts as a text of the form "meter:entry meter:entry".
std::string WriteParts(const std::vector<SqliteReservation::Part>& parts) {
  std::string text;
  for (const auto& [meter, entry] : parts)
    text.append(text.empty() ? "" : " ").append(std::to_string(meter)).append(":").append(std::to_string(entry));
  return text;
}

std::vector<SqliteReservation::Part> ReadParts(std::string_view text) {
  std::vector<SqliteReservation::Part> parts;
  const char* at = text.data();
  const char* end = at + text.size();
  const auto read = [&](int64_t* number) {
    const auto [stop, error] = std::from_chars(at, end, *number);
    at = stop == end ? end : stop + 1;
    return error == std::errc();
  };
  while (at != end) {
    SqliteReservation::Part part;
    if (!read(&part.meter) || !read(&part.entry)) break;
    parts.push_back(part);
  }
  return parts;
}

SqliteReservation ReadReservation(const SqliteRows& row) {
  return {.id = std::string(row.Text(0)),
          .ts = row.Int(1),
          .deadline = row.Int(2),
          .named = row.Int(12) != 0,
          .charged = {.requests = row.Int(3), .tokens = row.Int(4), .money = row.Int(9), .calls = 1},
          .used = {.tokens = row.Int(10), .money = row.Int(11)},
          .request_entry = row.Int(5),
          .token_entry = row.Int(6),
          .day = row.Int(7),
          .tiers = ReadParts(row.Text(8))};
}

SqliteEnded ReadEnded(const SqliteRows& row) {
  return {.id = std::string(row.Text(0)),
          .end = {.how = static_cast<HoldEnd::How>(row.Int(1)), .late = row.Int(2) != 0, .tokens = row.Int(5)},
          .named = row.Int(10) != 0,
          .requests = row.Int(3),
          .tokens = row.Int(4),
          .used = {.tokens = row.Int(8), .money = row.Int(9)},
          .tiers = ReadParts(row.Text(6)),
          .kept_until = row.Int(7)};
}

constexpr const char* kEnded =
    "SELECT id, how, late, requests, tokens, actual, tiers, kept_until, used, used_money, named FROM weir_ended WHERE ";
constexpr const char* kReservation =
    "SELECT id, ts, deadline, requests, tokens, request_entry, token_entry, day, tiers, money, used, used_money, "
    "named FROM weir_reservations WHERE ";
// Finds the row whose id has the token ?1, any round, and the model ?2: 'A' comes after '.' and '@'. The + keeps SQLite
// from reading all rows of the model by an index.
constexpr const char* kOfToken = "id >= ?1 AND id < ?1 || 'A' AND +model = ?2";

std::string DigitsOf(const ReservationToken& token) {
  std::string id = FormatReservationId(token, "");
  id.pop_back();  // the '@'
  return id;
}

}  // namespace

SqliteModel::SqliteModel(std::string_view named, int64_t now)
    : name(named),
      requests(named, "", {.unit = Limit::Unit::kRequests, .per = kMinute}, now),
      tokens(named, "", {.unit = Limit::Unit::kTokens, .per = kMinute}, now) {}

ModelUsage SqliteModel::usage() const {
  return {.rpm = requests.used(),
          .tpm = tokens.used(),
          .rpd = day.count(),
          .day_start = day.start(),
          .open_reservations = row.open};
}

std::optional<ModelQuota> ReadSqliteQuota(SqliteDatabase& database, std::string_view model, const SqliteRows& row,
                                          int column) {
  if (row.IsNull(column)) return {};
  const ModelQuota quota{.max_rpm = row.Int(column), .max_tpm = row.Int(column + 1), .max_rpd = row.Int(column + 2)};
  if (const Status checked = CheckQuota(model, quota); !checked.ok())
    database.Refuse(checked.message() + "; correct it in the table quotas");
  return ModelQuota{.max_rpm = std::min(kMostAmount, quota.max_rpm),
                    .max_tpm = std::min(kMostAmount, quota.max_tpm),
                    .max_rpd = std::min(kMostAmount, quota.max_rpd)};
}

SqliteModels::SqliteModels(SqliteDatabase& database, size_t max_named_ended)
    : meters(database),
      database_(database),
      max_named_ended_(static_cast<int64_t>(max_named_ended)),
      load_(database,
            "SELECT q.max_rpm, q.max_tpm, q.max_rpd, m.day_start, m.day_count, m.days, m.seen, m.open, m.bounded "
            "FROM (SELECT ?1 AS model) k LEFT JOIN weir_models m ON m.model = k.model "
            "LEFT JOIN quotas q ON q.model = k.model"),
      save_(database,
            "INSERT INTO weir_models(model, day_start, day_count, days, seen, open, bounded) "
            "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(model) DO UPDATE SET day_start = ?2, day_count = ?3, "
            "days = ?4, seen = ?5, open = ?6"),
      give_up_(database, "UPDATE weir_models SET bounded = 0 WHERE model = ?1 AND bounded"),
      drop_(database, "DELETE FROM weir_models WHERE model = ?1"),
      drop_meters_(database, "DELETE FROM weir_meters WHERE model = ?1 AND key = ''"),
      hold_(database,
            "INSERT INTO weir_reservations(id, model, ts, deadline, requests, tokens, request_entry, token_entry, "
            "day, tiers, money, named) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"),
      find_(database, std::string(kReservation) + kOfToken),
      due_(database, std::string(kReservation) + "model = ?1 AND deadline <= ?2 ORDER BY deadline LIMIT " +
                         std::to_string(kMostExpiredAtOnce)),
      next_due_(database, "SELECT model FROM weir_reservations WHERE deadline <= ?1 ORDER BY deadline LIMIT 1"),
      step_back_(database,
                 "UPDATE weir_reservations SET deadline = deadline - (ts - ?2), ts = ?2 WHERE model = ?1 AND ts > ?2"),
      forget_(database, "DELETE FROM weir_reservations WHERE id = ?1"),
      extend_(database, "UPDATE weir_reservations SET deadline = ?2 WHERE id = ?1"),
      note_use_(database, "UPDATE weir_reservations SET used = ?2, used_money = ?3 WHERE id = ?1"),
      find_ended_(database, std::string(kEnded) + kOfToken),
      count_ended_(database, "SELECT ended, named FROM weir_ended_counts WHERE model = ?1"),
      next_ended_(database, std::string(kEnded) + "model = ?1 AND named = ?2 ORDER BY kept_until LIMIT 1"),
      pinning_(database, std::string(kEnded) + "model = ?1 AND tiers <> ''"),
      end_(database,
           "INSERT INTO weir_ended(id, model, how, late, requests, tokens, actual, tiers, kept_until, used, "
           "used_money, named) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT(id) DO UPDATE SET "
           "how = excluded.how, "
           "late = excluded.late, actual = excluded.actual, tiers = excluded.tiers, kept_until = excluded.kept_until"),
      forget_ended_(database, "DELETE FROM weir_ended WHERE id = ?1") {}

SqliteModel SqliteModels::Load(std::string_view name, int64_t now, uint64_t* expired) {
  SqliteModel model(name, now);
  {
    SqliteRows row = load_(name);
    if (!row.Next()) return model;
    model.quota = ReadSqliteQuota(database_, name, row, 0);
    if (row.IsNull(3)) return model;
    model.row = {.known = true,
                 .bounded = row.Int(8) != 0,
                 .seen = row.Int(6),
                 .open = row.Int(7),
                 .day_start = std::max<int64_t>(0, row.Int(3)),
                 .day_count = std::clamp<int64_t>(row.Int(4), 0, kMostAmount),
                 .day = row.Int(5)};
  }
  model.stored = model.row;
  model.day = DayCount(SqliteTime(model.row.day_start), model.row.day_count, static_cast<DayCount::Ref>(model.row.day));
  // First deletes the entries that have left the window, so that expired reservations do not release them.
  meters.LoadOwn(name, now, &model.requests, &model.tokens);
  model.day.Advance(SqliteTime(now));
  if (model.row.seen > now) {
    step_back_.Run(name, now);
    model.row.seen = now;
  }
  if (model.row.open > 0) ExpireReservations(&model, now, expired);
  return model;
}

void SqliteModels::Save(SqliteModel* model) {
  for (SqliteMeter* meter : {&model->requests, &model->tokens})
    if (meter->has_row()) meters.Save(meter);
  SqliteModel::Row& row = model->row;
  row.day_start = SqliteNs(model->day.start());
  row.day_count = model->day.count();
  row.day = static_cast<int64_t>(model->day.day());
  if (row == model->stored) return;
  save_.Run(model->name, row.day_start, row.day_count, row.day, row.seen, row.open, int64_t{row.bounded});
  model->stored = row;
}

void SqliteModels::Drop(std::string_view model) {
  drop_meters_.Run(model);
  drop_.Run(model);
}

std::vector<SqliteReservation> SqliteModels::Due(std::string_view model, int64_t by) {
  std::vector<SqliteReservation> due;
  SqliteRows rows = due_(model, by);
  while (rows.Next()) due.push_back(ReadReservation(rows));
  return due;
}

void SqliteModels::ExpireDue(int64_t now, uint64_t* expired) {
  const uint64_t enough = *expired + kMostExpiredAtOnce;
  for (uint64_t before = *expired; before < enough; before = *expired) {
    std::string name;
    {
      SqliteRows row = next_due_(now);
      if (!row.Next()) return;
      name = row.Text(0);
    }
    SqliteModel model = Load(name, now, expired);
    Save(&model);
    if (*expired == before) return;  // another program has changed the rows
  }
}

void SqliteModels::ForgetReservations(std::string_view name, int64_t now) {
  SqliteModel gone(name, now);
  for (std::vector<SqliteReservation> some; !(some = Due(name, INT64_MAX)).empty();) {
    for (const SqliteReservation& reservation : some) {
      GiveBack(&gone, reservation, UnusedOf(reservation.charged, reservation.used, false), now);
      LetGo(reservation.tiers, now);
      Forget(&gone, reservation.id);
    }
  }
  std::vector<SqliteEnded> pinning;
  {
    SqliteRows rows = pinning_(name);
    while (rows.Next()) pinning.push_back(ReadEnded(rows));
  }
  for (const SqliteEnded& ended : pinning) LetGo(ended.tiers, now);
}

void SqliteModels::ExpireReservations(SqliteModel* model, int64_t now, uint64_t* expired) {
  const std::vector<SqliteReservation> due = Due(model->name, now);
  for (const SqliteReservation& reservation : due) Expire(model, reservation, now);
  *expired += due.size();
  if (!due.empty()) ForgetEnded(model->name, now);
}

// The reservation's counters stay pinned, because a late commit charges them.
void SqliteModels::Expire(SqliteModel* model, const SqliteReservation& reservation, int64_t now) {
  const Amounts unused = UnusedOf(reservation.charged, reservation.used, false);
  GiveBack(model, reservation, unused, now);
  Forget(model, reservation.id);
  End(model->name, {.id = reservation.id,
                    .named = reservation.named,
                    .requests = unused.requests,
                    .tokens = reservation.charged.tokens,
                    .used = reservation.used,
                    .tiers = reservation.tiers,
                    .kept_until = reservation.deadline + kExpiredKept.count()});
}

std::optional<SqliteEnded> SqliteModels::FindEnded(const ReservationToken& token, std::string_view model, int64_t now) {
  const std::string digits = DigitsOf(token);
  SqliteRows row = find_ended_(std::string_view(digits), model);
  if (!row.Next()) return {};
  SqliteEnded ended = ReadEnded(row);
  return ended.kept_until > now ? std::optional(std::move(ended)) : std::nullopt;
}

void SqliteModels::End(std::string_view model, const SqliteEnded& ended) {
  const std::string parts = WriteParts(ended.tiers);
  end_.Run(std::string_view(ended.id), model, static_cast<int64_t>(ended.end.how), static_cast<int64_t>(ended.end.late),
           ended.requests, ended.tokens, ended.end.tokens, std::string_view(parts), ended.kept_until, ended.used.tokens,
           ended.used.money, int64_t{ended.named});
}

void SqliteModels::ForgetEnded(std::string_view model, int64_t now) {
  int64_t unnamed = 0;
  int64_t named = 0;
  if (SqliteRows row = count_ended_(model); row.Next()) unnamed = row.Int(0), named = row.Int(1);
  ForgetEnded(model, false, unnamed, static_cast<int64_t>(kMostEnded), now);
  ForgetEnded(model, true, named, max_named_ended_, now);
}

void SqliteModels::ForgetEnded(std::string_view model, bool named, int64_t count, int64_t most, int64_t now) {
  for (; count > 0; --count) {
    std::string id;
    SqliteEnded ended;
    {
      SqliteRows row = next_ended_(model, int64_t{named});
      if (!row.Next()) return;
      id = row.Text(0);
      ended = ReadEnded(row);
    }
    const bool early = ended.kept_until > now;
    if (early && count <= most) return;
    name_lost_ = name_lost_ || (named && early);
    LetGo(ended.tiers, now);
    forget_ended_.Run(std::string_view(id));
  }
}

void SqliteModels::Hold(SqliteModel* model, const SqliteReservation& reservation) {
  const std::string parts = WriteParts(reservation.tiers);
  hold_.Run(std::string_view(reservation.id), model->name, reservation.ts, reservation.deadline,
            reservation.charged.requests, reservation.charged.tokens, reservation.request_entry,
            reservation.token_entry, reservation.day, std::string_view(parts), reservation.charged.money,
            int64_t{reservation.named});
  ++model->row.open;
  model->row.seen = std::max(model->row.seen, reservation.ts);
}

std::optional<SqliteReservation> SqliteModels::Find(const ReservationToken& token, std::string_view model) {
  const std::string digits = DigitsOf(token);
  SqliteRows row = find_(std::string_view(digits), model);
  if (!row.Next()) return {};
  return ReadReservation(row);
}

void SqliteModels::Forget(SqliteModel* model, std::string_view id) {
  forget_.Run(id);
  model->row.open = std::max<int64_t>(0, model->row.open - 1);
}

void SqliteModels::ChangeMeters(const std::vector<SqliteReservation::Part>& parts, int64_t now, auto change) {
  for (const auto& [id, entry] : parts) {
    std::optional<SqliteMeter> meter = meters.Load(id, now);
    if (!meter) continue;
    change(&*meter, entry);
    meters.Save(&*meter);
  }
}

void SqliteModels::GiveBack(SqliteModel* model, const SqliteReservation& reservation, const Amounts& amounts,
                            int64_t now) {
  const auto give_back = [&](SqliteMeter* meter, int64_t entry) {
    meters.GiveBack(meter, entry, reservation.ts, now, reservation.charged.Of(meter->unit()),
                    amounts.Of(meter->unit()));
  };
  give_back(&model->requests, reservation.request_entry);
  give_back(&model->tokens, reservation.token_entry);
  if (amounts.requests > 0) model->day.GiveBack(static_cast<DayCount::Ref>(reservation.day), amounts.requests);
  ChangeMeters(reservation.tiers, now, give_back);
}

void SqliteModels::EnterMore(SqliteModel* model, const std::vector<SqliteReservation::Part>& tiers,
                             const Amounts& amounts, int64_t now) {
  const auto enter = [&](SqliteMeter* meter, int64_t /*entry*/) {
    (void)meters.Add(meter, now, std::max<int64_t>(0, amounts.Of(meter->unit())));
  };
  model->row.known = true;
  enter(&model->requests, 0);
  enter(&model->tokens, 0);
  if (amounts.requests > 0) (void)model->day.Add(SqliteTime(now), amounts.requests);
  ChangeMeters(tiers, now, enter);
}

void SqliteModels::LetGo(const std::vector<SqliteReservation::Part>& tiers, int64_t now) {
  ChangeMeters(tiers, now, [](SqliteMeter* meter, int64_t /*entry*/) { meter->Unpin(); });
}

}  // namespace weir
