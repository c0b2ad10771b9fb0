// EnvoyService: serves Envoy's rate limits on a port (ServedLimiter), over gRPC and HTTP. It owns the limiter, its
// metrics and its rules.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>

#include "config/clock.h"
#include "relay/limiters/envoy/envoy_api.h"
#include "relay/limiters/envoy/envoy_grpc.h"
#include "relay/limiters/envoy/envoy_metrics.h"
#include "relay/limiters/envoy/envoy_rules.h"
#include "relay/limiters/envoy/envoy_settings.h"
#include "relay/limiters/followed_rules.h"
#include "relay/limiters/served_limiter.h"
#include "throttle/limits/descriptors/descriptor_limiter.h"

namespace weir {

class EnvoyService final : public ServedLimiter {
 public:
  // `settings` must name a directory of rules.
  explicit EnvoyService(EnvoySettings settings) : settings_(std::move(settings)), rules_(Follow()) {}

  void AddRoutes(HttpRouter& router, const Refusal& refusal) override;
  Status Open(Tracer* tracer) override;
  std::string_view grpc_service() const override { return kEnvoyGrpcService; }
  std::string_view health_name() const override { return "ratelimit"; }  // the name that envoyproxy/ratelimit uses
  Status Ready(std::string* note) const override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override { metrics_.AppendLive(tables, *limiter_); }
  void ReloadSoon() override;
  void Stop() override;

 private:
  FollowedRules<EnvoyRulesRead> Follow();
  void Use(const EnvoyRulesRead& read);
  void OnCrowded(std::string_view domain, std::string_view rule);

  const EnvoySettings settings_;
  EnvoyMetrics metrics_;
  // The times at which a value last had to share a counter for lack of memory, and at which the log last reported it.
  std::atomic<TimePoint> crowded_at_{TimePoint::min()}, warned_at_{TimePoint::min()};
  std::optional<EnvoyApi> api_;                 // the limiter's destructor may still answer requests through it
  std::unique_ptr<DescriptorLimiter> limiter_;  // set by Open
  FollowedRules<EnvoyRulesRead> rules_;         // destroyed first
};

}  // namespace weir
