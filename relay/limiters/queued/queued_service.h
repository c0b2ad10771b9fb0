// QueuedService: serves the endpoints that queue on a port (ServedLimiter). It owns the limiter, its metrics and rules.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/mutex.h"
#include "relay/limiters/followed_rules.h"
#include "relay/limiters/latest_states.h"
#include "relay/limiters/queued/queued_api.h"
#include "relay/limiters/queued/queued_metrics.h"
#include "relay/limiters/queued/queued_settings.h"
#include "relay/limiters/served_limiter.h"
#include "throttle/limits/queued/queued_limiter.h"

namespace weir {

class QueuedService final : public ServedLimiter {
 public:
  // `config_file` is the path of weir.yaml. If it is empty, there is no endpoint.
  QueuedService(const QueuedSettings& settings, std::string config_file)
      : settings_(settings), followed_(Follow(std::move(config_file))) {}

  void AddRoutes(HttpRouter& router, const Refusal& refusal) override;
  Status Open(Tracer* tracer) override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override;
  void ReloadSoon() override;
  // Ends the watch over the file, and answers 503 to the requests that still wait.
  void Stop() override;

 private:
  FollowedRules<QueuedRulesRead> Follow(std::string config_file);
  void Use(const QueuedRulesRead& read);
  // Returns true if the path, or a path above it, is configured.
  bool Serves(std::string_view path) const;

  const QueuedSettings settings_;
  IsOwnPath is_own_path_;  // set by AddRoutes
  QueuedMetrics metrics_;
  LatestStates<EndpointState> latest_;
  mutable Mutex mutex_;
  std::shared_ptr<const QueuedRules> rules_ WEIR_GUARDED_BY(mutex_);  // the rules in use; null before Open
  std::optional<QueuedApi> api_;             // the limiter's destructor may still answer requests through it
  std::unique_ptr<QueuedLimiter> limiter_;   // set by Open
  FollowedRules<QueuedRulesRead> followed_;  // destroyed first
};

}  // namespace weir
