// UpkeepPlugin: the part of a relay (RelayPlugin) that owns Upkeep (relay/upkeep/upkeep.h): checkpoints for
// `weir backup`, and compactions for `weir compact`; and the WarmUp of a start (relay/upkeep/warm_up.h). A relay on a
// PostgreSQL has none of them, because that has programs and memory of its own.
#pragma once

#include <atomic>
#include <memory>

#include "relay/management/management_methods.h"
#include "relay/relay_plugin.h"
#include "relay/upkeep/upkeep.h"
#include "relay/upkeep/warm_up.h"

namespace weir {

class UpkeepPlugin final : public RelayPlugin {
 public:
  // Start adds the plugin's methods to `methods`, which must outlive the plugin.
  explicit UpkeepPlugin(ManagementMethods& methods) : methods_(methods) {}
  ~UpkeepPlugin() override { Stop(); }

  Status Start(const RelayServices& services) override;
  void Stop() override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override;

 private:
  ManagementMethods& methods_;
  std::unique_ptr<Upkeep> upkeep_;   // null if the store is a PostgreSQL
  std::unique_ptr<WarmUp> warm_up_;  // null if upkeep_ is null
  std::atomic<bool> open_{false};    // both are set
};

}  // namespace weir
