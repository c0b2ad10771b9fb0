// UpkeepPlugin: the part of a relay (RelayPlugin) that owns Upkeep (relay/upkeep/upkeep.h): checkpoints for
// `weir backup`, and compactions for `weir compact`. A relay on a PostgreSQL has neither, because that has programs of
// its own for them.
#pragma once

#include <atomic>
#include <memory>

#include "relay/management/management_methods.h"
#include "relay/relay_plugin.h"
#include "relay/upkeep/upkeep.h"

namespace weir {

class UpkeepPlugin final : public RelayPlugin {
 public:
  // Start adds the plugin's methods to `methods`, which must outlive the plugin.
  explicit UpkeepPlugin(ManagementMethods& methods) : methods_(methods) {}
  ~UpkeepPlugin() override { Stop(); }

  Status Start(const RelayServices& services) override;
  void Stop() override;
  void AppendMetrics(MetricFamilies& families) const override;

 private:
  ManagementMethods& methods_;
  std::unique_ptr<Upkeep> upkeep_;  // null if the store is a PostgreSQL
  std::atomic<bool> open_{false};   // upkeep_ is set
};

}  // namespace weir
