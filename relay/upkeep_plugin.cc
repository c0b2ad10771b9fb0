#include "relay/upkeep_plugin.h"

#include "relay/upkeep/upkeep_methods.h"

namespace weir {

Status UpkeepPlugin::Start(const RelayServices& services) {
  const auto* const store = dynamic_cast<const RocksDbStore*>(&services.context.store);
  if (store == nullptr) return {};
  upkeep_ = std::make_unique<Upkeep>(*store, services.configuration.data_dir + "/events",
                                     [&limiter = services.context.limiter] { return IsBulkHeld(limiter.View()); });
  AddUpkeepMethods(methods_, *upkeep_);
  open_ = true;
  return {};
}

void UpkeepPlugin::Stop() {
  if (upkeep_ != nullptr) upkeep_->Stop();
}

void UpkeepPlugin::AppendMetrics(MetricFamilies& families) const {
  const auto number = [](bool runs) { return runs ? uint64_t{1} : uint64_t{0}; };
  families.Gauge("weir_upkeep_running",
                 "1 while the database is copied by `weir backup`, or compacted: by `weir compact`, or by the relay "
                 "itself, so that the space of removed events comes back (space)");
  families.Add(number(open_ && upkeep_->backup_runs()), {{"work", "backup"}});
  families.Add(number(open_ && upkeep_->compaction().runs), {{"work", "compaction"}});
  families.Add(number(open_ && upkeep_->returns_space()), {{"work", "space"}});
}

}  // namespace weir
