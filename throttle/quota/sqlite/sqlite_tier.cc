#include "throttle/quota/sqlite/sqlite_tier.h"

#include <algorithm>

#include "throttle/quota/quota.h"

namespace weir {
namespace {

// Of amounts times nanoseconds.
using Wide = __int128;

Wide Debt(const SqliteTier& tier) { return static_cast<Wide>(tier.amount) * tier.per + tier.rest; }

void SetDebt(SqliteTier* tier, Wide debt) {
  debt = std::clamp<Wide>(debt, 0, static_cast<Wide>(kMostAmount) * tier->per);
  tier->amount = static_cast<int64_t>(debt / tier->per);
  tier->rest = static_cast<int64_t>(debt % tier->per);
}

int64_t Rate(const Limit& limit) { return std::clamp<int64_t>(limit.amount, 1, kMostAmount); }
Wide Burst(const Limit& limit) {
  return static_cast<Wide>(std::clamp(limit.burst, Rate(limit), kMostAmount)) * limit.per.count();
}

// What was paid off stays, also when the clock then steps back.
void PayOff(SqliteTier* tier, int64_t now) {
  const Wide before = Debt(*tier);
  SetDebt(tier, before - static_cast<Wide>(tier->rate) * std::max<int64_t>(0, now - tier->ts));
  tier->changed |= tier->ts > now || Debt(*tier) != before;
  tier->ts = now;
}

// From when on nothing counts.
int64_t Until(const SqliteTier& tier) {
  if (!tier.bucket()) return tier.amount == 0 ? tier.ts : tier.ts + tier.per;
  return static_cast<int64_t>(std::min<Wide>(tier.ts + (Debt(tier) + tier.rate - 1) / tier.rate, INT64_MAX));
}

constexpr const char* kColumns = "id, amount, rest, rows, next, first, ts, rate, pins";

void ReadCounts(const SqliteRows& row, SqliteTier* tier) {
  tier->id = row.Int(0);
  tier->amount = std::max<int64_t>(0, row.Int(1));
  tier->rest = row.Int(2);
  tier->rows = row.Int(3);
  tier->next = row.Int(4);
  tier->first = row.Int(5);
  tier->ts = row.Int(6);
  tier->rate = std::max<int64_t>(1, row.Int(7));
  tier->pins = row.Int(8);
}

}  // namespace

int64_t SqliteTier::used() const { return std::min(kMostAmount, amount + (bucket() && rest > 0 ? 1 : 0)); }

bool SqliteTier::Fits(int64_t more, const Limit& limit) const {
  if (bucket()) return Debt(*this) + static_cast<Wide>(more) * per <= Burst(limit);
  return amount + more <= std::min(kMostAmount, limit.amount);
}

SqliteTiers::SqliteTiers(SqliteDatabase& database)
    : database_(database),
      by_name_(database,
               std::string("SELECT ") + kColumns + " FROM weir_tiers WHERE model = ?1 AND key = ?2 AND meter = ?3"),
      by_id_(database, std::string("SELECT ") + kColumns + ", unit, kind, per FROM weir_tiers WHERE id = ?1"),
      insert_(database,
              "INSERT INTO weir_tiers(model, key, meter, unit, kind, per, rate, amount, rest, rows, next, first, ts, "
              "pins, until) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"),
      update_(database,
              "UPDATE weir_tiers SET rate = ?2, amount = ?3, rest = ?4, rows = ?5, next = ?6, first = ?7, ts = ?8, "
              "pins = ?9, until = ?10 WHERE id = ?1"),
      add_(database, "INSERT INTO weir_tier_entries(tier, number, ts, amount) VALUES(?1, ?2, ?3, ?4)"),
      entry_(database, "SELECT ts, amount FROM weir_tier_entries WHERE tier = ?1 AND number = ?2"),
      set_(database, "UPDATE weir_tier_entries SET ts = ?3, amount = ?4 WHERE tier = ?1 AND number = ?2"),
      expire_(database, "DELETE FROM weir_tier_entries WHERE tier = ?1 AND number <= ?2"),
      step_back_(database, "UPDATE weir_tier_entries SET ts = ?2 WHERE tier = ?1 AND ts > ?2"),
      entries_(database, "SELECT number, ts, amount FROM weir_tier_entries WHERE tier = ?1 ORDER BY number") {}

SqliteTier SqliteTiers::Load(std::string_view model, std::string_view key, const Limit& limit, int64_t now) {
  SqliteTier tier{.unit = limit.unit, .kind = limit.kind, .per = limit.per.count(), .first = now, .ts = now};
  {
    const std::string meter = MeterName(limit);
    SqliteRows row = by_name_(model, key, std::string_view(meter));
    if (row.Next()) ReadCounts(row, &tier);
  }
  if (tier.id != 0) Refresh(&tier, now);
  if (!tier.bucket()) return tier;
  const int64_t rate = Rate(limit);
  tier.changed |= rate != tier.rate;
  tier.rate = rate;
  return tier;
}

std::optional<SqliteTier> SqliteTiers::Load(int64_t id, int64_t now) {
  SqliteTier tier;
  {
    SqliteRows row = by_id_(id);
    if (!row.Next()) return {};
    ReadCounts(row, &tier);
    tier.unit = static_cast<Limit::Unit>(row.Int(9));
    tier.kind = static_cast<Limit::Kind>(row.Int(10));
    tier.per = std::max<int64_t>(1, row.Int(11));
  }
  Refresh(&tier, now);
  return tier;
}

void SqliteTiers::Refresh(SqliteTier* tier, int64_t now) {
  if (tier->bucket()) return PayOff(tier, now);
  if (tier->ts > now) {
    step_back_.Run(tier->id, now);
    tier->ts = now;
    tier->first = std::min(tier->first, now);
    tier->changed = true;
  }
  if (tier->rows > 0) Expire(tier, now - tier->per);
}

void SqliteTiers::Expire(SqliteTier* tier, int64_t until) {
  int64_t last = 0;
  {
    SqliteRows rows = entries_(tier->id);
    while (rows.Next() && rows.Int(1) <= until) {
      last = rows.Int(0);
      tier->amount -= rows.Int(2);
      --tier->rows;
    }
  }
  if (last == 0) return;
  expire_.Run(tier->id, last);
  tier->changed = true;
}

void SqliteTiers::Save(std::string_view model, std::string_view key, SqliteTier* tier) {
  if (!tier->changed) return;
  tier->changed = false;
  const int64_t until = Until(*tier);
  if (tier->id != 0) {
    update_.Run(tier->id, tier->rate, tier->amount, tier->rest, tier->rows, tier->next, tier->first, tier->ts,
                tier->pins, until);
    return;
  }
  const std::string meter =
      MeterName({.unit = tier->unit, .kind = tier->kind, .per = std::chrono::nanoseconds(tier->per)});
  insert_.Run(model, key, std::string_view(meter), static_cast<int64_t>(tier->unit), static_cast<int64_t>(tier->kind),
              tier->per, tier->rate, tier->amount, tier->rest, tier->rows, tier->next, tier->first, tier->ts,
              tier->pins, until);
  tier->id = database_.last_id();
}

int64_t SqliteTiers::Add(SqliteTier* tier, int64_t now, int64_t amount) {
  tier->changed = true;
  if (tier->bucket()) {
    SetDebt(tier, Debt(*tier) + static_cast<Wide>(amount) * tier->per);
    return 0;
  }
  tier->ts = now;
  if (SqliteMerges(tier->rows, tier->first, now, tier->per)) {
    const int64_t newest = tier->next - 1;
    const int64_t before = AmountIn(*tier, newest);
    const int64_t after = AddAmounts(before, amount);
    set_.Run(tier->id, newest, now, after);
    tier->amount += after - before;
    return newest;
  }
  add_.Run(tier->id, tier->next, now, amount);
  tier->amount += amount;
  tier->first = now;
  ++tier->rows;
  return tier->next++;
}

int64_t SqliteTiers::AmountIn(const SqliteTier& tier, int64_t entry) {
  SqliteRows row = entry_(tier.id, entry);
  return row.Next() ? row.Int(1) : 0;
}

void SqliteTiers::GiveBack(SqliteTier* tier, int64_t entry, int64_t ts, int64_t now, int64_t added, int64_t amount) {
  if (tier->bucket()) {
    const Wide paid = static_cast<Wide>(tier->rate) * std::max<int64_t>(0, now - ts) / tier->per;
    const auto owed = static_cast<int64_t>(std::max<Wide>(0, added - paid));
    SetDebt(tier, Debt(*tier) - static_cast<Wide>(std::min(amount, owed)) * tier->per);
    tier->changed = true;
    return;
  }
  SqliteRows row = entry_(tier->id, entry);
  if (!row.Next()) return;
  const int64_t entry_ts = row.Int(0);
  const int64_t left = row.Int(1);
  const int64_t given = std::min(amount, left);
  set_.Run(tier->id, entry, entry_ts, left - given);
  tier->amount -= given;
  tier->changed = true;
}

int64_t SqliteTiers::WaitFor(const SqliteTier& tier, int64_t now, int64_t amount, const Limit& limit) {
  if (tier.bucket()) {
    const Wide missing = Debt(tier) + static_cast<Wide>(amount) * tier.per - Burst(limit);
    return static_cast<int64_t>(std::min<Wide>((missing + tier.rate - 1) / tier.rate, INT64_MAX));
  }
  int64_t to_free = tier.amount + amount - std::min(kMostAmount, limit.amount);
  SqliteRows rows = entries_(tier.id);
  int64_t ts = now;
  while (to_free > 0 && rows.Next()) {
    ts = rows.Int(1);
    to_free -= rows.Int(2);
  }
  return ts + tier.per - now;
}

}  // namespace weir
