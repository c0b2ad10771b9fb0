// KeyedService: serves the keyed limiter on a port (ServedLimiter). It owns the limiter, its metrics and its rules.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "relay/limiters/followed_rules.h"
#include "relay/limiters/keyed/keyed_api.h"
#include "relay/limiters/keyed/keyed_metrics.h"
#include "relay/limiters/keyed/keyed_settings.h"
#include "relay/limiters/latest_states.h"
#include "relay/limiters/served_limiter.h"
#include "relay/net/log_limit.h"
#include "throttle/limits/keyed/keyed_limiter.h"

namespace weir {

class KeyedService final : public ServedLimiter {
 public:
  // `config_file` is the path of weir.yaml. If it is empty, every key has the default limits.
  KeyedService(const KeyedSettings& settings, std::string config_file)
      : settings_(settings), rules_(Follow(std::move(config_file))) {}

  void AddRoutes(HttpRouter& router, const Refusal& refusal) override;
  Status Open(Tracer* tracer) override;
  // Returns an error if the store that shares the windows does not answer and the settings refuse requests meanwhile.
  Status Ready(std::string* note) const override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override;
  void ReloadSoon() override;
  // Ends the watch over the file, and answers 503 to the requests that still wait.
  void Stop() override;

 private:
  FollowedRules<KeyedRulesRead> Follow(std::string config_file);
  void Use(const KeyedRulesRead& read);
  std::unique_ptr<SharedWindows> OpenStore();
  void LogStore(const std::string& problem);

  const KeyedSettings settings_;
  KeyedMetrics metrics_;
  LogLimit store_log_;
  LatestStates<KeyState> latest_;
  std::optional<KeyedApi> api_;            // the limiter's destructor may still answer requests through it
  std::unique_ptr<KeyedLimiter> limiter_;  // set by Open
  FollowedRules<KeyedRulesRead> rules_;    // destroyed first
};

}  // namespace weir
