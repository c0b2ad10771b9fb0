// SqliteContent: stores the quotas of models in a SQLite quota file, and lists, resets, exports and replaces models.
// The caller must have begun a transaction before it calls a function. Private to the SQLite store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "throttle/limits/quota/quota_store.h"
#include "throttle/limits/quota/sqlite/sqlite_model.h"

namespace weir {

class SqliteContent {
 public:
  SqliteContent(SqliteDatabase& database, SqliteModels& models);

  // Stores a quota, or removes it if `quota` is empty. REQUIRES: CheckQuota has accepted the quota.
  void SetQuota(std::string_view model, const std::optional<ModelQuota>& quota, bool by_configuration);
  std::vector<std::string> StatedByConfiguration();
  // The functions below do what QuotaStore says. `now` is the time in nanoseconds since 1970. Those that have a
  // parameter `expired` add to it the number of reservations that they found expired.
  void Reset(std::string_view model, int64_t now);
  void ResetAll();
  std::vector<std::string> Models(int64_t now, uint64_t* expired);
  QuotaState Export(int64_t now, uint64_t* expired);
  void Import(const QuotaState& state, int64_t now);

 private:
  std::vector<std::string> Names(SqliteQuery& query, int64_t bound);

  SqliteDatabase& database_;
  SqliteModels& models_;
  SqliteQuery set_quota_;
  SqliteQuery unset_quota_;
  SqliteQuery configured_;
  SqliteQuery not_configured_;
  SqliteQuery all_configured_;
  SqliteQuery due_models_;
  SqliteQuery live_models_;
  SqliteQuery all_models_;
};

}  // namespace weir
