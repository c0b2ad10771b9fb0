#include "relay/upkeep_plugin.h"

#include "config/text/readable.h"
#include "relay/upkeep/upkeep_methods.h"

namespace weir {

Status UpkeepPlugin::Start(const RelayServices& services) {
  const auto* const store = dynamic_cast<const RocksDbStore*>(&services.context.store);
  if (store == nullptr) return {};
  upkeep_ = std::make_unique<Upkeep>(*store, services.configuration.data_dir + "/events",
                                     [&limiter = services.context.limiter] { return IsBulkHeld(limiter.View()); });
  warm_up_ = std::make_unique<WarmUp>(*store, services.configuration.data_dir + "/recently-read",
                                      AdmitAsBulk(services.context.limiter, Operation::kRead), services.context.clock);
  AddUpkeepMethods(methods_, *upkeep_);
  open_ = true;
  return {};
}

void UpkeepPlugin::Stop() {
  if (upkeep_ != nullptr) upkeep_->Stop();
  if (warm_up_ != nullptr) warm_up_->Stop();
}

void UpkeepPlugin::AppendMetrics(MetricFamilies& families) const {
  const auto number = [](bool runs) { return runs ? uint64_t{1} : uint64_t{0}; };
  families.Gauge("weir_upkeep_running",
                 "1 while the database is copied by `weir backup`, or compacted: by `weir compact`, or by the relay "
                 "itself, so that the space of removed events comes back (space); or read into memory after a start "
                 "(warm_up)");
  families.Add(number(open_ && upkeep_->backup_runs()), {{"work", "backup"}});
  families.Add(number(open_ && upkeep_->compaction().runs), {{"work", "compaction"}});
  families.Add(number(open_ && upkeep_->returns_space()), {{"work", "space"}});
  families.Add(number(open_ && warm_up_->state().runs), {{"work", "warm_up"}});
}

void UpkeepPlugin::AppendLive(LiveTables& tables) const {
  if (!open_) return;
  const WarmUp::State state = warm_up_->state();
  if (!state.runs && state.records == 0) return;
  LiveTable& table = tables.Add("warm_up", "Read into memory after the start", {{"what"}, {"now", true}});
  table.AddRow({"what was in memory before", Percent(state.done)});
  table.AddRow({"records", ShortNumber(state.records)});
}

}  // namespace weir
