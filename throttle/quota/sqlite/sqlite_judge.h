// What the limits say about a charge, of the rows as a transaction has read them. Private to the store.
#pragma once

#include <optional>

#include "throttle/quota/quota_store.h"
#include "throttle/quota/sqlite/sqlite_model.h"

namespace weir {

struct SqliteVerdict {
  QuotaCode code = QuotaCode::kOk;
  std::optional<size_t> tier;
  Limit::Unit unit = Limit::Unit::kRequests;
  std::optional<Duration> retry_after;

  bool fits() const { return code <= QuotaCode::kUnknownModel; }
};

// tiers: those of the charge, in its order.
SqliteVerdict JudgeSqlite(const Charge& charge, const std::optional<ModelQuota>& quota, const SqliteModel& model,
                          const SqliteTierRows& tiers, int64_t now, SqliteModels& models);

}  // namespace weir
