#include "throttle/quota/sqlite/sqlite_tier.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "throttle/quota/quota.h"

namespace weir {
namespace {

// Of amounts times nanoseconds.
using Wide = __int128;

Wide Level(const SqliteTier& tier) { return static_cast<Wide>(tier.amount) * tier.per + tier.rest; }
Wide Full(const SqliteTier& tier) { return static_cast<Wide>(tier.burst) * tier.per; }

void SetLevel(SqliteTier* tier, Wide level) {
  level = std::clamp(level, static_cast<Wide>(-kMostAmount) * tier->per, Full(*tier));
  Wide whole = level / tier->per;
  if (whole * tier->per > level) --whole;
  tier->amount = static_cast<int64_t>(whole);
  tier->rest = static_cast<int64_t>(level - whole * tier->per);
}

void Refill(SqliteTier* tier, int64_t now) {
  SetLevel(tier, Level(*tier) + static_cast<Wide>(tier->rate) * std::max<int64_t>(0, now - tier->ts));
  tier->ts = now;
}

// From when on nothing counts: a bucket that is full is as good as a new one.
int64_t Until(const SqliteTier& tier) {
  if (!tier.bucket()) return tier.ts + tier.per;
  const Wide filling = (Full(tier) - Level(tier) + tier.rate - 1) / tier.rate;
  return static_cast<int64_t>(std::min<Wide>(tier.ts + filling, INT64_MAX));
}

void ReadCounts(const SqliteRows& row, SqliteTier* tier) {
  tier->id = row.Int(0);
  tier->amount = row.Int(1);
  tier->rest = row.Int(2);
  tier->rows = row.Int(3);
  tier->first = row.Int(4);
  tier->ts = row.Int(5);
  tier->rate = std::max<int64_t>(1, row.Int(6));
  tier->burst = std::max(tier->rate, row.Int(7));
}

}  // namespace

int64_t SqliteTier::used() const {
  if (!bucket()) return std::min(kMostAmount, amount);
  return std::min(kMostAmount, burst - amount);
}

bool SqliteTier::Fits(int64_t more, const Limit& limit) const {
  if (bucket()) return amount >= more;
  return amount + more <= std::min(kMostAmount, limit.amount);
}

SqliteTiers::SqliteTiers(SqliteDatabase& database)
    : database_(database),
      by_name_(database,
               "SELECT id, amount, rest, rows, first, ts, rate, burst FROM weir_tiers WHERE model = ?1 AND key = ?2 "
               "AND meter = ?3"),
      by_id_(database,
             "SELECT id, amount, rest, rows, first, ts, rate, burst, unit, kind, per FROM weir_tiers WHERE id = ?1"),
      insert_(database,
              "INSERT INTO weir_tiers(model, key, meter, unit, kind, per, rate, burst, amount, rest, rows, first, ts, "
              "until) "
              "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"),
      update_(database,
              "UPDATE weir_tiers SET rate = ?2, burst = ?3, amount = ?4, rest = ?5, rows = ?6, first = ?7, ts = ?8, "
              "until = ?9 "
              "WHERE id = ?1"),
      add_(database, "INSERT INTO weir_tier_entries(tier, ts, amount) VALUES(?1, ?2, ?3)"),
      newest_(database, "SELECT ts, amount FROM weir_tier_entries WHERE tier = ?1 ORDER BY ts DESC LIMIT 1"),
      move_(database, "UPDATE weir_tier_entries SET ts = ?3, amount = ?4 WHERE tier = ?1 AND ts = ?2"),
      expire_(database, "DELETE FROM weir_tier_entries WHERE tier = ?1 AND ts <= ?2 RETURNING amount"),
      step_back_(database, "DELETE FROM weir_tier_entries WHERE tier = ?1 AND ts > ?2 RETURNING amount"),
      by_time_(database, "SELECT ts, amount FROM weir_tier_entries WHERE tier = ?1 AND ts >= ?2 ORDER BY ts"),
      reduce_(database, "UPDATE weir_tier_entries SET amount = amount - ?3 WHERE tier = ?1 AND ts = ?2"),
      remove_(database, "DELETE FROM weir_tier_entries WHERE tier = ?1 AND ts = ?2") {}

SqliteTier SqliteTiers::Load(std::string_view model, std::string_view key, const Limit& limit, int64_t now) {
  SqliteTier tier{.unit = limit.unit, .kind = limit.kind, .per = limit.per.count(), .ts = now};
  {
    const std::string meter = MeterName(limit);
    SqliteRows row = by_name_(model, key, std::string_view(meter));
    if (row.Next()) ReadCounts(row, &tier);
  }
  if (tier.id != 0) Refresh(&tier, now);
  const int64_t rate = std::clamp<int64_t>(limit.amount, 1, kMostAmount);
  const int64_t burst = std::clamp(limit.burst, rate, kMostAmount);
  const bool same = tier.rate == rate && tier.burst == burst;
  tier.rate = rate;
  tier.burst = burst;
  if (!tier.bucket()) return tier;
  if (tier.id == 0) {
    tier.amount = burst;
  } else if (!same) {
    SetLevel(&tier, Level(tier));
    tier.changed = true;
  }
  return tier;
}

std::optional<SqliteTier> SqliteTiers::Load(int64_t id, int64_t now) {
  SqliteTier tier;
  {
    SqliteRows row = by_id_(id);
    if (!row.Next()) return {};
    ReadCounts(row, &tier);
    tier.unit = static_cast<Limit::Unit>(row.Int(8));
    tier.kind = static_cast<Limit::Kind>(row.Int(9));
    tier.per = std::max<int64_t>(1, row.Int(10));
  }
  Refresh(&tier, now);
  return tier;
}

void SqliteTiers::Refresh(SqliteTier* tier, int64_t now) {
  if (tier->bucket()) {
    // Written even when nothing is charged: what has been filled stays, also when the clock then steps back.
    const Wide before = Level(*tier);
    tier->changed = tier->ts > now;
    Refill(tier, now);
    tier->changed |= Level(*tier) != before;
    return;
  }
  const auto remove = [&](SqliteQuery& query, int64_t bound) {
    int64_t removed = 0;
    SqliteRows rows = query(tier->id, bound);
    while (rows.Next()) {
      removed += rows.Int(0);
      --tier->rows;
      tier->changed = true;
    }
    tier->amount -= removed;
    return removed;
  };
  if (tier->ts > now) {
    const int64_t later = remove(step_back_, now);
    tier->ts = now;
    tier->first = std::min(tier->first, now);
    tier->changed = true;
    if (later > 0) Add(tier, now, std::min(later, kMostAmount));
  }
  if (tier->rows > 0) remove(expire_, now - tier->per);
}

void SqliteTiers::Save(std::string_view model, std::string_view key, SqliteTier* tier) {
  if (!tier->changed) return;
  tier->changed = false;
  const int64_t until = Until(*tier);
  if (tier->id != 0) {
    update_.Run(tier->id, tier->rate, tier->burst, tier->amount, tier->rest, tier->rows, tier->first, tier->ts, until);
    return;
  }
  const std::string meter =
      MeterName({.unit = tier->unit, .kind = tier->kind, .per = std::chrono::nanoseconds(tier->per)});
  insert_.Run(model, key, std::string_view(meter), static_cast<int64_t>(tier->unit), static_cast<int64_t>(tier->kind),
              tier->per, tier->rate, tier->burst, tier->amount, tier->rest, tier->rows, tier->first, tier->ts, until);
  tier->id = database_.last_id();
}

void SqliteTiers::Add(SqliteTier* tier, int64_t now, int64_t amount) {
  tier->changed = true;
  if (tier->bucket()) {
    SetLevel(tier, Level(*tier) - static_cast<Wide>(amount) * tier->per);
    return;
  }
  const bool full = tier->rows >= kSqliteExactEntries && now - tier->first < SqliteGranule(tier->per);
  if (tier->rows > 0 && (full || tier->ts == now)) {
    SqliteRows newest = newest_(tier->id, int64_t{0});
    if (newest.Next() && (full || newest.Int(0) == now)) {
      const int64_t ts = newest.Int(0);
      const int64_t before = newest.Int(1);
      const int64_t after = AddAmounts(before, amount);
      move_.Run(tier->id, ts, now, after);
      tier->amount += after - before;
      tier->ts = now;
      return;
    }
  }
  add_.Run(tier->id, now, amount);
  tier->amount += amount;
  tier->ts = now;
  tier->first = now;
  ++tier->rows;
}

void SqliteTiers::Take(SqliteTier* tier, int64_t ts, int64_t now, int64_t amount) {
  if (tier->bucket()) {
    SetLevel(tier, Level(*tier) + static_cast<Wide>(amount) * tier->per);
    tier->changed = true;
    return;
  }
  if (ts + tier->per <= now) return;
  std::vector<std::pair<int64_t, int64_t>> entries;
  int64_t found = 0;
  {
    SqliteRows rows = by_time_(tier->id, ts);
    while (found < amount && rows.Next()) {
      entries.emplace_back(rows.Int(0), rows.Int(1));
      found += entries.back().second;
    }
  }
  for (const auto& [entry_ts, entry_amount] : entries) {
    const int64_t part = std::min(amount, entry_amount);
    amount -= part;
    tier->amount -= part;
    tier->changed = true;
    if (part < entry_amount) {
      reduce_.Run(tier->id, entry_ts, part);
      continue;
    }
    remove_.Run(tier->id, entry_ts);
    --tier->rows;
    if (entry_ts >= tier->first) tier->first = 0;
  }
}

int64_t SqliteTiers::WaitFor(const SqliteTier& tier, int64_t now, int64_t amount, const Limit& limit) {
  if (tier.bucket()) {
    const Wide missing = static_cast<Wide>(amount) * tier.per - Level(tier);
    return static_cast<int64_t>(std::min<Wide>((missing + tier.rate - 1) / tier.rate, INT64_MAX));
  }
  int64_t to_free = tier.amount + amount - std::min(kMostAmount, limit.amount);
  SqliteRows rows = by_time_(tier.id, INT64_MIN);
  int64_t ts = now;
  while (to_free > 0 && rows.Next()) {
    ts = rows.Int(0);
    to_free -= rows.Int(1);
  }
  return ts + tier.per - now;
}

}  // namespace weir
