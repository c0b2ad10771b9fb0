#include "throttle/limits/quota/sqlite/sqlite_sweep.h"

#include <vector>

#include "throttle/limits/quota/quota_store.h"

namespace weir {
namespace {

// The models of one transaction: so few that other processes hardly wait, because a model costs some 20 us.
constexpr size_t kModelsAtOnce = 256;
constexpr size_t kTiersAtOnce = 1024;
constexpr size_t kEndedAtOnce = 64;  // models

}  // namespace

SqliteSweep::SqliteSweep(SqliteDatabase& database, SqliteModels& models)
    : models_(models),
      next_models_(database, "SELECT model FROM weir_models WHERE model > ?1 ORDER BY model LIMIT " +
                                 std::to_string(kModelsAtOnce)),
      next_ended_(database, "SELECT model FROM weir_ended_counts WHERE model > ?1 ORDER BY model LIMIT " +
                                std::to_string(kEndedAtOnce)),
      has_tiers_(database, "SELECT 1 FROM weir_meters WHERE model = ?1 AND key <> '' LIMIT 1"),
      next_tiers_(database, "SELECT id, until, pins FROM weir_meters WHERE id > ?1 AND key <> '' ORDER BY id LIMIT " +
                                std::to_string(kTiersAtOnce)),
      drop_entries_(database, "DELETE FROM weir_entries WHERE meter = ?1"),
      drop_tier_(database, "DELETE FROM weir_meters WHERE id = ?1") {}

void SqliteSweep::Ended(int64_t now) {
  std::vector<std::string> names;
  {
    SqliteRows rows = next_ended_(std::string_view(ended_));
    while (rows.Next()) names.emplace_back(rows.Text(0));
  }
  for (const std::string& name : names) models_.ForgetEnded(name, now);
  ended_ = names.size() == kEndedAtOnce ? names.back() : "";
}

bool SqliteSweep::Models(int64_t now, uint64_t* expired) {
  Ended(now);
  std::vector<std::string> names;
  {
    SqliteRows rows = next_models_(std::string_view(model_));
    while (rows.Next()) names.emplace_back(rows.Text(0));
  }
  const uint64_t enough = *expired + kMostExpiredAtOnce;
  for (const std::string& name : names) {
    SqliteModel model = models_.Load(name, now, expired);
    if (model.unused() && !has_tiers_(std::string_view(name)).Next()) {
      models_.Drop(name);
    } else {
      models_.Save(&model);
    }
    model_ = name;
    if (*expired >= enough) return false;
  }
  if (names.size() == kModelsAtOnce) return false;
  model_.clear();
  return true;
}

bool SqliteSweep::Tiers(int64_t now) {
  size_t seen = 0;
  std::vector<int64_t> done;
  {
    SqliteRows rows = next_tiers_(tier_);
    for (; rows.Next(); ++seen) {
      tier_ = rows.Int(0);
      const bool counts = rows.Int(1) > now;
      const bool held = rows.Int(2) > 0;  // a reservation still needs it
      if (!counts && !held) done.push_back(tier_);
    }
  }
  for (const int64_t id : done) {
    drop_entries_.Run(id);
    drop_tier_.Run(id);
  }
  if (seen == kTiersAtOnce) return false;
  tier_ = 0;
  return true;
}

}  // namespace weir
