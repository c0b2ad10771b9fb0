// LimitersPlugin: the part of a relay (RelayPlugin) that serves the limiters on the relay's port. Since every client
// can reach that port, by default only the relay's administrators may use the quotas (WEIR_QUOTA_API), and the other
// three limiters are off (WEIR_KEYED_API, WEIR_QUEUED_API, WEIR_RATELIMIT_API).
#pragma once

#include <atomic>
#include <string>

#include "relay/limiters/served_limiters.h"
#include "relay/relay_plugin.h"

namespace weir {

class LimitersPlugin final : public RelayPlugin {
 public:
  explicit LimitersPlugin(ServedLimiterSettings settings = {}) : settings_{.limiters = std::move(settings)} {}

  // Also declares the settings that only `weir gate` and `weir quota` use, because these commands and the relay may
  // share one environment.
  void Declare(SettingTable& table) override;
  // Returns the path of weir.yaml (WEIR_CONFIG), once the settings are loaded.
  const std::string& config_file() const { return settings_.limiters.quota.config_file; }
  void AddRoutes(HttpRouter& router) override;
  // Opens the limiters. Returns an error if a configuration file is wrong or the store of the quotas cannot be used. A
  // Redis that does not answer is not an error.
  Status Start(const RelayServices& services) override;
  void Stop() override;
  void HangUp() override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override;

 private:
  AllLimiterSettings settings_;
  const Admin* admin_ = nullptr;   // set by Start
  ServedLimiters limiters_;        // set by AddRoutes
  std::atomic<bool> open_{false};  // Start has opened all limiters
};

}  // namespace weir
