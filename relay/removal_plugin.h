// RemovalPlugin: the part of a relay (RelayPlugin) that removes stored events by filter, when an administrator asks for
// it (relay/management/removal_methods.h). `weir delete` uses it.
#pragma once

#include <atomic>
#include <memory>

#include "relay/management/management_methods.h"
#include "relay/relay_plugin.h"
#include "relay/retention/removal_jobs.h"

namespace weir {

class RemovalPlugin final : public RelayPlugin {
 public:
  // Start adds the methods to `methods`, which must outlive the plugin.
  explicit RemovalPlugin(ManagementMethods& methods) : methods_(methods) {}

  Status Start(const RelayServices& services) override;
  void Stop() override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override;

 private:
  ManagementMethods& methods_;
  std::unique_ptr<RemovalJobs> jobs_;  // set by Start; outlives the calls of the methods
  std::atomic<bool> open_{false};      // Start has succeeded
};

}  // namespace weir
