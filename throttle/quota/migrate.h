// MigrateQuotas: copies the stated quotas and the usage of all models from one store to another (YAML → SQLite → Redis,
// or any other way). Counters of tiers and open reservations are not copied; what open reservations have charged for
// their model counts as used.
//
// The copy replaces all that the target had; the source stays as it is. Repeating it is safe, and replaces the target
// again with what the source has then.
//
// An empty source is an error unless `even_empty`, because it would empty the target; it is usually the wrong store.
#pragma once

#include <string>

#include "config/status.h"
#include "throttle/quota/quota_store.h"

namespace weir {

// How much was copied.
struct Migrated {
  size_t quotas = 0;
  size_t models = 0;  // models with usage
};
// After an error the target may have a part of the copy (Redis), or have all of it only in memory (YAML); the error
// says which.
Result<Migrated> MigrateQuotas(QuotaStore& from, QuotaStore& to, bool even_empty = false);

}  // namespace weir
