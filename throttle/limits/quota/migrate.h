// MigrateQuotas: copies the stated quotas and the usage of all models from one store to another, such as from YAML to
// SQLite. Does not copy the counters of tiers, nor open reservations; what an open reservation has charged for its
// model is copied as usage.
//
// The copy replaces everything in the target; the source does not change. A second copy replaces the target again, with
// the content that the source has by then.
//
// An empty source is an error unless `even_empty` is true, because the copy would empty the target. Usually an empty
// source means that the operator has named the wrong store.
#pragma once

#include <string>

#include "config/status.h"
#include "throttle/limits/quota/quota_store.h"

namespace weir {

// How many quotas and models were copied.
struct Migrated {
  size_t quotas = 0;
  size_t models = 0;  // models with usage
};
// If this returns an error, the target may be unchanged, have only a part of the copy (Redis), or have all of it but
// only in memory (YAML); the error says so.
Result<Migrated> MigrateQuotas(QuotaStore& from, QuotaStore& to, bool even_empty = false);

}  // namespace weir
