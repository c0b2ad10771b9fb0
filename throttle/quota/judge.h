// What the limits say about a charge. The order of codes, and the longest of the waits.
#pragma once

#include <optional>
#include <vector>

#include "throttle/quota/model_counts.h"
#include "throttle/quota/quota_store.h"

namespace weir {

struct Verdict {
  QuotaCode code = QuotaCode::kOk;
  std::optional<size_t> tier;
  Limit::Unit unit = Limit::Unit::kRequests;
  std::optional<Duration> retry_after;

  bool fits() const { return code <= QuotaCode::kUnknownModel; }
};

// counts: null where nothing counts yet. meters: of the charge's tiers, null likewise. Both were advanced to `now`.
Verdict Judge(const Charge& charge, const std::optional<ModelQuota>& quota, const ModelCounts* counts,
              const std::vector<Meter*>& meters, WallTime now);

}  // namespace weir
