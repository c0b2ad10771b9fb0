// QueuedService: the endpoints that queue among the limiters of a port. It has the limiter, its metrics, and the watch
// over the configuration file.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "relay/limiters/queued/queued_api.h"
#include "relay/limiters/queued/queued_metrics.h"
#include "relay/limiters/queued/queued_settings.h"
#include "relay/limiters/served_limiter.h"
#include "relay/process/config_watch.h"
#include "throttle/queued/queued_limiter.h"

namespace weir {

class QueuedService final : public ServedLimiter {
 public:
  // Without a file there is no endpoint.
  QueuedService(const QueuedSettings& settings, std::string config_file)
      : settings_(settings), config_file_(std::move(config_file)) {}

  void AddRoutes(HttpRouter& router, const Refusal& refusal) override;
  Status Open() override;
  void AppendMetrics(MetricFamilies& families) const override;
  void ReloadSoon() override;
  // Whoever waits then is answered.
  void Stop() override;

 private:
  std::function<void()> ReadAgain();
  // Whether there is an endpoint for the path.
  bool Serves(std::string_view path) const;
  void Follow(const std::shared_ptr<const QueuedRules>& rules);

  const QueuedSettings settings_;
  const std::string config_file_;
  QueuedMetrics metrics_;
  mutable std::mutex mutex_;
  std::shared_ptr<const QueuedRules> rules_;  // under the lock; what runs
  std::optional<QueuedApi> api_;              // those who wait are answered by it until the limiter is gone
  std::unique_ptr<QueuedLimiter> limiter_;    // from Open on
  bool has_section_ = false;                  // what was read of the file
  std::unique_ptr<ConfigWatch> watch_;        // where there is a file; ends first
};

}  // namespace weir
