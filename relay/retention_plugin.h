// RetentionPlugin: the part of a relay (RelayPlugin) that removes events by the rules of retention and holds the disk
// budget (relay/retention/). It shows what it removed, and why, at /metrics and /live.
//
// It starts after the plugins of the rules and of the ladder, which it asks, and stops before them.
#pragma once

#include <atomic>
#include <memory>

#include "relay/relay_plugin.h"
#include "relay/retention/disk_budget.h"
#include "relay/retention/sweeper.h"

namespace weir {

class RetentionPlugin final : public RelayPlugin {
 public:
  Status Start(const RelayServices& services) override;
  void Stop() override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override;

 private:
  std::string LiveTitle(const SweeperStats& stats) const;

  std::unique_ptr<DiskBudget> budget_;  // null without a budget. Outlives the pipeline, which asks it for room
  std::unique_ptr<Sweeper> sweeper_;
  std::atomic<bool> open_{false};  // Start has succeeded
};

}  // namespace weir
