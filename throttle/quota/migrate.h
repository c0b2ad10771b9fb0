// Copies quotas and usage from one store to another: YAML → SQLite → Redis, or any other way. Repeating it overwrites
// what the target had with what the source has now; the source stays as it is.
//
// An empty source is an error, unless even_empty: it would empty the target, and is most often the wrong one.
#pragma once

#include <string>

#include "config/status.h"
#include "throttle/quota/quota_store.h"

namespace weir {

struct Migrated {
  size_t quotas = 0;
  size_t models = 0;  // with usage
};
Result<Migrated> MigrateQuotas(QuotaStore& from, QuotaStore& to, bool even_empty = false);

}  // namespace weir
