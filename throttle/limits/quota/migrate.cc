#include "throttle/limits/quota/migrate.h"

namespace weir {

Result<Migrated> MigrateQuotas(QuotaStore& from, QuotaStore& to, bool even_empty) {
  const Result<QuotaState> state = from.Export();
  if (!state.ok())
    return Status::Error("nothing was migrated: reading " + from.name() + ": " + state.status().message());
  if (state.value().empty() && !even_empty)
    return Status::Error("nothing was migrated: " + from.name() + " holds nothing, neither quotas nor usage");
  const Status written = to.Import(state.value());
  // A store may have imported a part of the state.
  if (!written.ok())
    return Status::Error("not migrated, or not wholly: writing " + to.name() + ": " + written.message() +
                         "; migrate again");
  // A store may have the state only in memory so far.
  const Status kept = to.Persist();
  if (!kept.ok()) return Status::Error("imported into " + to.name() + ", but not written: " + kept.message());
  Migrated migrated;
  for (const auto& [model, of_model] : state.value()) {
    if (of_model.quota) ++migrated.quotas;
    if (of_model.has_usage()) ++migrated.models;
  }
  return migrated;
}

}  // namespace weir
