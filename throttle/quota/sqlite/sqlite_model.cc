#include "throttle/quota/sqlite/sqlite_model.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace weir {
namespace {

constexpr int64_t kDayNs = kDay.count();

// "tier:entry tier:entry"
std::string WriteParts(const std::vector<SqliteReservation::Part>& parts) {
  std::string text;
  for (const auto& [tier, entry] : parts)
    text.append(text.empty() ? "" : " ").append(std::to_string(tier)).append(":").append(std::to_string(entry));
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
    if (!read(&part.tier) || !read(&part.entry)) break;
    parts.push_back(part);
  }
  return parts;
}

SqliteReservation ReadReservation(const SqliteRows& row) {
  return {.id = std::string(row.Text(0)),
          .ts = row.Int(1),
          .deadline = row.Int(2),
          .requests = row.Int(3),
          .tokens = row.Int(4),
          .request_entry = row.Int(5),
          .token_entry = row.Int(6),
          .day = row.Int(7),
          .tiers = ReadParts(row.Text(8))};
}

constexpr const char* kReservation =
    "SELECT id, ts, deadline, requests, tokens, request_entry, token_entry, day, tiers FROM weir_reservations WHERE ";

}  // namespace

ModelUsage SqliteModel::usage() const {
  return {.rpm = std::min(kMostAmount, requests.sum),
          .tpm = std::min(kMostAmount, tokens.sum),
          .rpd = day_count,
          .day_start = WallTime(Duration(day_count > 0 ? day_start : 0)),
          .open_reservations = open};
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

SqliteModels::SqliteModels(SqliteDatabase& database)
    : requests(database, "requests"),
      tokens(database, "tokens"),
      tiers(database),
      database_(database),
      load_(database,
            "SELECT m.requests, m.requests_rows, m.requests_first, m.tokens, m.tokens_rows, m.tokens_first, m.seen, "
            "m.open, d.day_start, d.day_count, q.max_rpm, q.max_tpm, q.max_rpd, m.requests_gone, m.tokens_gone, m.days "
            "FROM (SELECT ?1 AS model) k "
            "LEFT JOIN weir_models m ON m.model = k.model LEFT JOIN daily d ON d.model = k.model "
            "LEFT JOIN quotas q ON q.model = k.model"),
      seen_(database,
            "UPDATE weir_models SET seen = ?2, requests_first = min(requests_first, ?2), "
            "tokens_first = min(tokens_first, ?2) WHERE model = ?1"),
      set_day_(database,
               "INSERT INTO daily(model, day_start, day_count) VALUES(?1, ?2, ?3) ON CONFLICT(model) DO UPDATE SET "
               "day_start = excluded.day_start, day_count = excluded.day_count"),
      end_day_(database, "DELETE FROM daily WHERE model = ?1"),
      hold_(database,
            "INSERT INTO weir_reservations(id, model, ts, deadline, requests, tokens, request_entry, token_entry, "
            "day, tiers) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"),
      open_(database,
            "INSERT INTO weir_models(model, seen, open) VALUES(?1, ?2, 1) ON CONFLICT(model) DO UPDATE SET "
            "open = open + 1, seen = max(seen, ?2)"),
      find_(database, std::string(kReservation) + "id = ?1"),
      due_(database, std::string(kReservation) + "model = ?1 AND deadline <= ?2 ORDER BY deadline LIMIT " +
                         std::to_string(kMostExpiredAtOnce)),
      step_back_(database,
                 "UPDATE weir_reservations SET deadline = deadline - (ts - ?2), ts = ?2 WHERE model = ?1 AND ts > ?2"),
      begin_bounded_(database,
                     "INSERT INTO weir_models(model, seen, bounded) VALUES(?1, ?2, 1) ON CONFLICT(model) DO NOTHING"),
      forget_(database, "DELETE FROM weir_reservations WHERE id = ?1"),
      close_(database, "UPDATE weir_models SET open = max(0, open - 1) WHERE model = ?1"),
      drop_(database, "DELETE FROM weir_models WHERE model = ?1") {}

SqliteModel SqliteModels::Read(std::string_view model) {
  SqliteModel state;
  SqliteRows row = load_(model);
  if (!row.Next()) return state;
  const auto amount = [&](int column) { return std::max<int64_t>(0, row.Int(column)); };
  state.known = !row.IsNull(6);
  state.requests = {.sum = amount(0), .rows = amount(1), .first = row.Int(2), .gone = row.Int(13)};
  state.tokens = {.sum = amount(3), .rows = amount(4), .first = row.Int(5), .gone = row.Int(14)};
  state.day = row.Int(15);
  state.seen = row.Int(6);
  state.open = row.Int(7);
  state.day_start = std::max<int64_t>(0, row.Int(8));
  state.day_count = SqliteAmount(row, 9);
  state.quota = ReadSqliteQuota(database_, model, row, 10);
  return state;
}

SqliteModel SqliteModels::Load(std::string_view model, int64_t now, uint64_t* expired) {
  SqliteModel state = Read(model);
  if (!state.known) return state;
  if (state.seen > now || (state.day_count > 0 && state.day_start > now)) {
    StepBack(model, now);
    state = Read(model);
  }
  // What has left is not given back: first it goes.
  requests.Refresh(model, now, &state.requests);
  tokens.Refresh(model, now, &state.tokens);
  if (state.day_count > 0 && now - state.day_start >= kDayNs) {
    // What has left stays away, also when the clock then steps back.
    state.day_count = 0;
    SetDay(model, state);
    ++state.day;
  }
  if (state.open > 0) ExpireReservations(model, now, &state, expired);
  return state;
}

// The counts of tiers follow when they are asked for.
void SqliteModels::StepBack(std::string_view model, int64_t now) {
  requests.StepBack(model, now);
  tokens.StepBack(model, now);
  step_back_.Run(model, now);
  SqliteModel state = Read(model);
  if (state.day_count > 0 && state.day_start > now) {
    state.day_start = now;
    SetDay(model, state);
  }
  seen_.Run(model, now);
}

void SqliteModels::ExpireReservations(std::string_view model, int64_t now, SqliteModel* state, uint64_t* expired) {
  std::vector<SqliteReservation> due;
  {
    SqliteRows rows = due_(model, now);
    while (rows.Next()) due.push_back(ReadReservation(rows));
  }
  for (const SqliteReservation& reservation : due) {
    GiveBack(model, reservation, reservation.requests, reservation.tokens, now, state);
    Forget(model, reservation.id);
    --state->open;
    ++*expired;
  }
}

void SqliteModels::SetDay(std::string_view model, const SqliteModel& state) {
  if (state.day_count > 0) {
    set_day_.Run(model, state.day_start, state.day_count);
  } else {
    end_day_.Run(model);
  }
}

void SqliteModels::CountDay(std::string_view model, int64_t now, int64_t count, SqliteModel* state) {
  if (count <= 0) return;
  if (state->day_count == 0) state->day_start = now;
  state->day_count = AddAmounts(state->day_count, count);
  SetDay(model, *state);
}

void SqliteModels::Hold(std::string_view model, const SqliteReservation& reservation) {
  const std::string parts = WriteParts(reservation.tiers);
  hold_.Run(std::string_view(reservation.id), model, reservation.ts, reservation.deadline, reservation.requests,
            reservation.tokens, reservation.request_entry, reservation.token_entry, reservation.day,
            std::string_view(parts));
  open_.Run(model, reservation.ts);
}

std::optional<SqliteReservation> SqliteModels::Find(std::string_view id) {
  SqliteRows row = find_(id);
  if (!row.Next()) return {};
  return ReadReservation(row);
}

void SqliteModels::GiveBack(std::string_view model, const SqliteReservation& reservation, int64_t request_count,
                            int64_t token_count, int64_t now, SqliteModel* state) {
  if (request_count > 0 && state->day_count > 0 && reservation.day == state->day) {
    state->day_count = std::max<int64_t>(0, state->day_count - request_count);
    SetDay(model, *state);
    if (state->day_count == 0) ++state->day;
  }
  requests.GiveBack(model, reservation.request_entry, reservation.ts, request_count, &state->requests);
  tokens.GiveBack(model, reservation.token_entry, reservation.ts, token_count, &state->tokens);
  for (const auto& [id, entry] : reservation.tiers) {
    std::optional<SqliteTier> tier = tiers.Load(id, now);
    if (!tier) continue;
    const bool of_requests = tier->unit == Limit::Unit::kRequests;
    const int64_t added = of_requests ? reservation.requests : reservation.tokens;
    const int64_t amount = of_requests ? request_count : token_count;
    if (amount > 0) tiers.GiveBack(&*tier, entry, reservation.ts, now, added, amount);
    tier->pins = std::max<int64_t>(0, tier->pins - 1);
    tier->changed = true;
    tiers.Save("", "", &*tier);
  }
}

void SqliteModels::Forget(std::string_view model, std::string_view id) {
  forget_.Run(id);
  close_.Run(model);
}

void SqliteModels::DropIfUnused(std::string_view model, const SqliteModel& state) {
  if (state.open > 0 || state.day_count > 0 || state.requests.rows > 0 || state.tokens.rows > 0) return;
  end_day_.Run(model);
  drop_.Run(model);
}

}  // namespace weir
