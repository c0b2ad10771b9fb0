#include "throttle/quota/sqlite/sqlite_sweep.h"

#include <utility>
#include <vector>

namespace weir {
namespace {

// So few that other processes hardly wait: a model costs some 20 us.
constexpr size_t kModelsAtOnce = 256;
constexpr size_t kTiersAtOnce = 1024;

}  // namespace

SqliteSweep::SqliteSweep(SqliteDatabase& database, SqliteModels& models)
    : models_(models),
      next_models_(database, "SELECT model FROM weir_models WHERE model > ?1 ORDER BY model LIMIT " +
                                 std::to_string(kModelsAtOnce)),
      has_tiers_(database, "SELECT 1 FROM weir_tiers WHERE model = ?1 LIMIT 1"),
      next_tiers_(database,
                  "SELECT id, until FROM weir_tiers WHERE id > ?1 ORDER BY id LIMIT " + std::to_string(kTiersAtOnce)),
      drop_entries_(database, "DELETE FROM weir_tier_entries WHERE tier = ?1"),
      drop_tier_(database, "DELETE FROM weir_tiers WHERE id = ?1") {}

void SqliteSweep::Models(int64_t now, uint64_t* expired) {
  std::vector<std::string> names;
  {
    SqliteRows rows = next_models_(std::string_view(model_));
    while (rows.Next()) names.emplace_back(rows.Text(0));
  }
  for (const std::string& name : names) {
    const SqliteModel state = models_.Load(name, now, expired);
    if (!has_tiers_(std::string_view(name)).Next()) models_.DropIfUnused(name, state);
  }
  model_ = names.size() < kModelsAtOnce ? "" : names.back();
}

void SqliteSweep::Tiers(int64_t now) {
  std::vector<std::pair<int64_t, int64_t>> tiers;
  {
    SqliteRows rows = next_tiers_(tier_);
    while (rows.Next()) tiers.emplace_back(rows.Int(0), rows.Int(1));
  }
  for (const auto& [id, until] : tiers) {
    if (until > now) continue;
    drop_entries_.Run(id);
    drop_tier_.Run(id);
  }
  tier_ = tiers.size() < kTiersAtOnce ? 0 : tiers.back().first;
}

}  // namespace weir
