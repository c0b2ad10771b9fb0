// GatePart: the quotas on the relay's port. Its administrators are the relay's, and they alone may use it, unless
// WEIR_QUOTA_API says otherwise: a relay is open to everybody.
#pragma once

#include <memory>

#include "relay/gate/gate_settings.h"
#include "relay/relay_part.h"

namespace weir {

class QuotaGate;

class GatePart final : public RelayPart {
 public:
  explicit GatePart(GateSettings settings = {});
  ~GatePart() override;

  // Also what only `weir gate` and `weir quota` use: one environment may be for all.
  void Declare(SettingTable& table) override;
  void AddRoutes(HttpRouter& router) override;
  // An error: the configuration file is wrong, or the store cannot be used. A Redis that is away is none.
  Status Start(const RelayServices& services) override;
  void Stop() override;
  void HangUp() override;
  void AppendMetrics(MetricFamilies& families) const override;

 private:
  AllQuotaSettings settings_;
  const Admin* admin_ = nullptr;
  std::unique_ptr<QuotaGate> gate_;
};

}  // namespace weir
