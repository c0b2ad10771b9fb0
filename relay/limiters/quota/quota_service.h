// QuotaService: serves the quotas on a port (ServedLimiter), over HTTP and gRPC. It owns the store that the settings
// name, the limiter, the metrics and the rules. A thread of its own prunes the store, writes the configuration's quotas
// to the store, and logs the store's health.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "config/mutex.h"
#include "config/status.h"
#include "relay/limiters/followed_rules.h"
#include "relay/limiters/quota/calls_under_way.h"
#include "relay/limiters/quota/quota_api.h"
#include "relay/limiters/quota/quota_metrics.h"
#include "relay/limiters/quota/quota_settings.h"
#include "relay/limiters/quota/store_health.h"
#include "relay/limiters/quota/waiting_calls.h"
#include "relay/limiters/served_limiter.h"

namespace weir {

class QuotaService final : public ServedLimiter {
 public:
  explicit QuotaService(QuotaSettings settings);
  // Calls Stop.
  ~QuotaService() override;

  void AddRoutes(HttpRouter& router, const Refusal& refusal) override;
  // Returns an error if the configuration file is wrong or the store cannot be used. A Redis that does not answer is
  // not an error.
  Status Open(Tracer* tracer) override;
  std::string_view grpc_service() const override;
  Status Ready(std::string* note) const override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override;
  void ReloadSoon() override { rules_.ReadSoon(); }
  // Returns SQLite's wait for a lock; 0 for other stores.
  std::chrono::milliseconds longest_call() const override;
  // Returns false for every store in memory, because the service cannot see whether Stop will write the counts to a
  // file (`yaml:`) or not (`memory`).
  bool all_is_in_store() const override { return store_->pace() != QuotaStore::Pace::kAtOnce; }
  // Ends the service's thread, waits until all calls are answered, and writes counts that are only in memory to the
  // store. If that fails, logs the error.
  void Stop() override;

  // Performs a call that came in a form other than JSON over HTTP (quota_grpc.h). Calls `make`, which must pass the
  // call to the limiter, and then call `reply` once. If the call may block on the store (QuotaApi::MayWait), `make`
  // runs later, on a thread of WaitingCalls; otherwise it runs before Perform returns. If `make` returns before it has
  // called `reply`, it must keep `under_way`, which may be null, until the call of `reply`, so that Stop waits for the
  // call. If WaitingCalls refuses the call, the client gets the answer that `busy` makes, and `make` is not called.
  using Make = std::function<void(QuotaLimiter& limiter, HttpReply reply, std::shared_ptr<void> under_way, Span span)>;
  void Perform(QuotaRoute::Call call, const HttpRequest& request, HttpReply reply, WaitingCalls::Busy busy, Make make);

 private:
  FollowedRules<QuotaRulesRead> Follow();
  Status Use(const QuotaRulesRead& read);
  Span BeginSpan(QuotaRoute::Call call, const HttpRequest& request) const;
  void Answer(const QuotaRoute& route, const HttpRequest& request, HttpReply reply, QuotaAudience audience);
  void Run(const std::stop_token& stop);
  void LogStated(const Result<std::vector<std::string>>& stated);
  void LogDifferences();

  Mutex mutex_;
  std::condition_variable_any changed_;
  bool store_failed_ WEIR_GUARDED_BY(mutex_) = false;
  Mutex stating_mutex_;
  // The newest error of QuotaLimiter::StateQuotas; empty if it succeeded.
  std::string stating_error_ WEIR_GUARDED_BY(stating_mutex_);

  // The order matters: later members use earlier ones, and are destroyed before them.
  const QuotaSettings settings_;
  Tracer* tracer_ = nullptr;
  std::unique_ptr<QuotaStore> store_;  // set by Open, as limiter_ and api_ are
  QuotaMetrics metrics_;
  std::optional<QuotaLimiter> limiter_;
  std::optional<QuotaApi> api_;
  CallsUnderWay calls_;
  WaitingCalls waiting_;
  FollowedRules<QuotaRulesRead> rules_;
  std::atomic<bool> stopped_{false};  // Stop was called
  std::jthread thread_;               // destroyed first
};

}  // namespace weir
