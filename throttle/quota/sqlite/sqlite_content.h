// SqliteContent: works on whole models of a SQLite quota file. It stores their quotas, and lists, resets, exports and
// replaces them. Each function runs within a transaction that the caller has begun. Private to the SQLite store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "throttle/quota/quota_store.h"
#include "throttle/quota/sqlite/sqlite_model.h"

namespace weir {

class SqliteContent {
 public:
  SqliteContent(SqliteDatabase& database, SqliteModels& models);

  // Stores the quota, which CheckQuota must have accepted; an empty `quota` removes it.
  void SetQuota(std::string_view model, const std::optional<ModelQuota>& quota, bool by_configuration);
  std::vector<std::string> StatedByConfiguration();
  // The functions below are those of QuotaStore. `now` is the time in nanoseconds since 1970; `expired` is increased by
  // the number of reservations that were found expired.
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
  SqliteQuery known_;
  SqliteQuery due_models_;
  SqliteQuery live_models_;
  SqliteQuery all_models_;
};

}  // namespace weir
