#include "throttle/quota/sqlite/sqlite_content.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

// Of what is not weir's own table of models, which goes last: the triggers write to it.
constexpr std::array<std::string_view, 6> kUsageTables = {"requests",          "tokens",     "daily",
                                                          "weir_reservations", "weir_tiers", "weir_models"};

// ?1 is the time from before which nothing of the minute counts, ?1 + a minute is now.
constexpr const char* kLiveModels = R"sql(
SELECT model FROM quotas
UNION SELECT m.model FROM weir_models m WHERE m.open > 0
  OR EXISTS (SELECT 1 FROM requests r WHERE r.model = m.model AND r.ts > ?1 AND r.count > 0)
  OR EXISTS (SELECT 1 FROM tokens t WHERE t.model = m.model AND t.ts > ?1 AND t.count > 0)
  OR EXISTS (SELECT 1 FROM daily d WHERE d.model = m.model AND d.day_count > 0
             AND d.day_start > ?1 + 60000000000 - 86400000000000)
UNION SELECT model FROM weir_tiers WHERE until > ?1 + 60000000000
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
      known_(database, "UPDATE weir_models SET bounded = 0 WHERE model = ?1 AND bounded"),
      due_models_(database, "SELECT DISTINCT model FROM weir_reservations WHERE deadline <= ?1"),
      live_models_(database, kLiveModels),
      all_models_(database, "SELECT model FROM quotas UNION SELECT model FROM weir_models WHERE ?1 = ?1") {}

void SqliteContent::SetQuota(std::string_view model, const std::optional<ModelQuota>& quota) {
  if (!quota) return unset_quota_.Run(model);
  const auto cut = [](int64_t limit) { return std::clamp<int64_t>(limit, 0, kMostAmount); };
  set_quota_.Run(model, cut(quota->max_rpm), cut(quota->max_tpm), cut(quota->max_rpd));
  known_.Run(model);
}

// Rarely called: prepared when they are needed.
void SqliteContent::Reset(std::string_view model) {
  SqliteQuery(database_, "DELETE FROM weir_tier_entries WHERE tier IN (SELECT id FROM weir_tiers WHERE model = ?1)")
      .Run(model);
  for (const std::string_view table : kUsageTables)
    SqliteQuery(database_, "DELETE FROM " + std::string(table) + " WHERE model = ?1").Run(model);
}

void SqliteContent::ResetAll() {
  database_.Execute("DELETE FROM weir_tier_entries");
  for (const std::string_view table : kUsageTables) database_.Execute("DELETE FROM " + std::string(table));
}

std::vector<std::string> SqliteContent::Names(SqliteQuery& query, int64_t bound) {
  std::vector<std::string> names;
  SqliteRows rows = query(bound);
  while (rows.Next()) names.emplace_back(rows.Text(0));
  return names;
}

std::vector<std::string> SqliteContent::Models(int64_t now, uint64_t* expired) {
  for (const std::string& model : Names(due_models_, now)) (void)models_.Load(model, now, expired);
  return Names(live_models_, now - kMinute.count());
}

QuotaState SqliteContent::Export(int64_t now, uint64_t* expired) {
  QuotaState all;
  for (const std::string& name : Names(all_models_, 0)) {
    const SqliteModel model = models_.Load(name, now, expired);
    ModelState state{.quota = model.quota};
    state.requests = models_.requests.Entries(name);
    state.tokens = models_.tokens.Entries(name);
    state.day_start = model.usage().day_start;
    state.day_count = model.day_count;
    if (state != ModelState{}) all.emplace(name, std::move(state));
  }
  return all;
}

void SqliteContent::Import(const QuotaState& all, int64_t now) {
  ResetAll();
  database_.Execute("DELETE FROM quotas");
  for (const auto& [name, state] : all) {
    if (state.quota) SetQuota(name, state.quota);
    models_.requests.Restore(name, state.requests, now);
    models_.tokens.Restore(name, state.tokens, now);
    SqliteModel day{.day_count = 0};
    models_.CountDay(name, state.day_start.time_since_epoch().count(), state.day_count, &day);
  }
}

}  // namespace weir
