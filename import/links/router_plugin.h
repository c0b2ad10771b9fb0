// RouterPlugin: the part of a relay (RelayPlugin) that owns its Router (router.h). It follows the section `router` of
// weir.yaml, has the methods by which `weir stream` opens a link, and shows the links at /metrics and /live.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "import/links/router.h"
#include "import/links/router_reader.h"
#include "relay/limiters/config_reads.h"
#include "relay/management/management_methods.h"
#include "relay/relay_plugin.h"

namespace weir {

template <typename Read>
class FollowedRules;

class RouterPlugin final : public RelayPlugin {
 public:
  // Start adds the methods to `methods`, which must outlive the plugin. `config_file` returns the path of weir.yaml,
  // empty if there is none; Start calls it.
  RouterPlugin(ManagementMethods& methods, std::function<std::string()> config_file);
  ~RouterPlugin() override;

  Status Start(const RelayServices& services) override;
  void Stop() override;
  void HangUp() override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override;

 private:
  ManagementMethods& methods_;
  const std::function<std::string()> config_file_;
  ConfigReads reads_;
  std::unique_ptr<Router> router_;  // set by Start
  std::unique_ptr<FollowedRules<RouterRead>> followed_;
  std::atomic<bool> open_{false};  // Start has succeeded
};

}  // namespace weir
