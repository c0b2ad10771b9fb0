#include "throttle/quota/migrate.h"

namespace weir {

Result<Migrated> MigrateQuotas(QuotaStore& from, QuotaStore& to) {
  const Result<QuotaState> state = from.Export();
  if (!state.ok())
    return Status::Error("nothing was migrated: reading " + from.name() + ": " + state.status().message());
  const Status written = to.Import(state.value());
  if (!written.ok()) return Status::Error("nothing was migrated: writing " + to.name() + ": " + written.message());
  // Not every store writes at once.
  const Status kept = to.Persist();
  if (!kept.ok()) return Status::Error("nothing was migrated: writing " + to.name() + ": " + kept.message());
  Migrated migrated;
  for (const auto& [model, of_model] : state.value()) {
    if (of_model.quota) ++migrated.quotas;
    if (!of_model.requests.empty() || !of_model.tokens.empty() || of_model.day_count > 0) ++migrated.models;
  }
  return migrated;
}

}  // namespace weir
