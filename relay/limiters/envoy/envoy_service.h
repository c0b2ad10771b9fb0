// EnvoyService: Envoy's rate limits among the limiters of a port. It has the limiter, its metrics, and the watch over
// the directory of its files.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "relay/limiters/envoy/envoy_api.h"
#include "relay/limiters/envoy/envoy_grpc.h"
#include "relay/limiters/envoy/envoy_metrics.h"
#include "relay/limiters/envoy/envoy_settings.h"
#include "relay/limiters/served_limiter.h"
#include "relay/process/config_watch.h"
#include "throttle/descriptors/descriptor_limiter.h"

namespace weir {

class EnvoyService final : public ServedLimiter {
 public:
  // There is a directory.
  explicit EnvoyService(EnvoySettings settings) : settings_(std::move(settings)) {}

  void AddRoutes(HttpRouter& router, const Refusal& refusal) override;
  Status Open() override;
  std::string_view grpc_service() const override { return kEnvoyGrpcService; }
  void AppendMetrics(MetricFamilies& families) const override;
  void ReloadSoon() override;
  void Stop() override;

 private:
  std::function<void()> ReadAgain();

  const EnvoySettings settings_;
  EnvoyMetrics metrics_;
  std::optional<EnvoyApi> api_;                 // what was left at a shard is answered by it
  std::unique_ptr<DescriptorLimiter> limiter_;  // from Open on
  std::unique_ptr<ConfigWatch> watch_;          // ends first
};

}  // namespace weir
