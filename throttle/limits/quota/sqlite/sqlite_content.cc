#include "throttle/limits/quota/sqlite/sqlite_content.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

constexpr std::array<std::string_view, 4> kUsageTables = {"weir_ended", "weir_reservations", "weir_meters",
                                                          "weir_models"};

// ?1 is the current time.
constexpr const char* kLiveModels = R"sql(
SELECT model FROM quotas
UNION SELECT model FROM weir_models WHERE open > 0 OR (day_count > 0 AND day_start > ?1 - 86400000000000)
UNION SELECT model FROM weir_meters m WHERE model <> '' AND until > ?1 AND (kind > 0
  OR EXISTS (SELECT 1 FROM weir_entries e WHERE e.meter = m.id AND e.ts > ?1 - m.per AND e.amount > 0))
ORDER BY model
)sql";

}  // namespace

SqliteContent::SqliteContent(SqliteDatabase& database, SqliteModels& models)
    : database_(database),
      models_(models),
      set_quota_(database,
                 "INSERT INTO quotas(model, max_rpm, max_tpm, max_rpd) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(model) DO "
                 "UPDATE SET max_rpm = excluded.max_rpm, max_tpm = excluded.max_tpm, max_rpd = excluded.max_rpd"),
      unset_quota_(database, "DELETE FROM quotas WHERE model = ?1"),
      configured_(database, "INSERT INTO weir_configured(model) VALUES(?1) ON CONFLICT DO NOTHING"),
      not_configured_(database, "DELETE FROM weir_configured WHERE model = ?1"),
      all_configured_(database, "SELECT model FROM weir_configured NATURAL JOIN quotas WHERE ?1 = ?1 ORDER BY model"),
      due_models_(database, "SELECT DISTINCT model FROM weir_reservations WHERE deadline <= ?1"),
      live_models_(database, kLiveModels),
      all_models_(database, "SELECT model FROM quotas UNION SELECT model FROM weir_models WHERE ?1 = ?1") {}

void SqliteContent::SetQuota(std::string_view model, const std::optional<ModelQuota>& quota, bool by_configuration) {
  (by_configuration ? configured_ : not_configured_).Run(model);
  if (!quota) return unset_quota_.Run(model);
  const auto cut = [](int64_t limit) { return std::clamp<int64_t>(limit, 0, kMostAmount); };
  set_quota_.Run(model, cut(quota->max_rpm), cut(quota->max_tpm), cut(quota->max_rpd));
  models_.GiveUpPlace(model);
}

std::vector<std::string> SqliteContent::StatedByConfiguration() { return Names(all_configured_, 0); }

// Reset is rarely called, so it prepares its queries only when it needs them.
void SqliteContent::Reset(std::string_view model, int64_t now) {
  SqliteQuery(database_, "DELETE FROM weir_entries WHERE meter IN (SELECT id FROM weir_meters WHERE model = ?1)")
      .Run(model);
  SqliteQuery(database_, "DELETE FROM weir_meters WHERE model = ?1").Run(model);
  models_.ForgetReservations(model, now);
  for (const std::string_view table : kUsageTables)
    SqliteQuery(database_, "DELETE FROM " + std::string(table) + " WHERE model = ?1").Run(model);
}

void SqliteContent::ResetAll() {
  database_.Execute("DELETE FROM weir_entries");
  for (const std::string_view table : kUsageTables) database_.Execute("DELETE FROM " + std::string(table));
}

std::vector<std::string> SqliteContent::Names(SqliteQuery& query, int64_t bound) {
  std::vector<std::string> names;
  SqliteRows rows = query(bound);
  while (rows.Next()) names.emplace_back(rows.Text(0));
  return names;
}

std::vector<std::string> SqliteContent::Models(int64_t now, uint64_t* expired) {
  for (const std::string& name : Names(due_models_, now)) {
    SqliteModel model = models_.Load(name, now, expired);
    models_.Save(&model);
  }
  return Names(live_models_, now);
}

QuotaState SqliteContent::Export(int64_t now, uint64_t* expired) {
  QuotaState all;
  for (const std::string& name : Names(all_models_, 0)) {
    SqliteModel model = models_.Load(name, now, expired);
    models_.Save(&model);
    ModelState state{.quota = model.quota,
                     .requests = models_.meters.Entries(model.requests),
                     .tokens = models_.meters.Entries(model.tokens),
                     .day_start = model.day.start(),
                     .day_count = model.day.count()};
    if (state != ModelState{}) all.emplace(name, std::move(state));
  }
  for (const std::string& name : StatedByConfiguration())
    if (const auto state = all.find(name); state != all.end()) state->second.by_configuration = true;
  return all;
}

void SqliteContent::Import(const QuotaState& all, int64_t now) {
  ResetAll();
  database_.Execute("DELETE FROM quotas; DELETE FROM weir_configured");
  for (const auto& [name, state] : all) {
    if (state.quota) SetQuota(name, state.quota, state.by_configuration);
    if (!state.has_usage()) continue;
    SqliteModel model(name, now);
    model.row.known = true;
    model.row.bounded = !state.quota;
    models_.meters.Restore(&model.requests, state.requests, now);
    models_.meters.Restore(&model.tokens, state.tokens, now);
    model.day.Set(std::max(state.day_start, WallTime()), std::min(kMostAmount, state.day_count));
    models_.Save(&model);
  }
}

}  // namespace weir
