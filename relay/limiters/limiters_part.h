// LimitersPart: the limiters on the relay's port. Its administrators are the relay's. They alone may use the quotas,
// unless WEIR_QUOTA_API says otherwise, for a relay is open to everybody; keys nobody, unless WEIR_KEYED_API does.
#pragma once

#include <atomic>

#include "relay/limiters/served_limiters.h"
#include "relay/relay_part.h"

namespace weir {

class LimitersPart final : public RelayPart {
 public:
  explicit LimitersPart(ServedLimiterSettings settings = {}) : settings_{.limiters = std::move(settings)} {}

  // Also what only `weir gate` and `weir quota` use: one environment may be for all.
  void Declare(SettingTable& table) override;
  void AddRoutes(HttpRouter& router) override;
  // An error: the configuration file is wrong, or the quotas' store cannot be used. A Redis that is away is none.
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
