// LimitersPart: the limiters on the relay's port, with the relay's administrators. Since a relay is open to everybody,
// only administrators may use the quotas (unless WEIR_QUOTA_API says otherwise), and no client may use keys (unless
// WEIR_KEYED_API says otherwise).
#pragma once

#include <atomic>

#include "relay/limiters/served_limiters.h"
#include "relay/relay_part.h"

namespace weir {

class LimitersPart final : public RelayPart {
 public:
  explicit LimitersPart(ServedLimiterSettings settings = {}) : settings_{.limiters = std::move(settings)} {}

  // Includes the settings that only `weir gate` and `weir quota` use: all may have one environment.
  void Declare(SettingTable& table) override;
  void AddRoutes(HttpRouter& router) override;
  // Returns an error if the configuration file is wrong or the quotas' store cannot be used. A Redis that is away is no
  // error.
  Status Start(const RelayServices& services) override;
  void Stop() override;
  void HangUp() override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override;

 private:
  AllLimiterSettings settings_;
  const Admin* admin_ = nullptr;
  ServedLimiters limiters_;
  std::atomic<bool> open_{false};
};

}  // namespace weir
