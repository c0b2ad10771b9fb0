// QuotaService puts the quotas behind the routes of a server. It owns the store that the settings name, the limiter,
// and the metrics, and reads the configuration file again when it changes.
//
//   auto quotas = QuotaService::Open(settings);             // "sqlite:quota.db: …"
//   QuotaService::AddRoutes(router, settings, refusal, [&]() -> QuotaService& { return *quotas.value(); });
//   … server …
//   quotas.value()->Stop();                              // when no connection is left
//
// Threads: any, unless said otherwise.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "config/status.h"
#include "relay/limiters/quota/calls_under_way.h"
#include "relay/limiters/quota/quota_api.h"
#include "relay/limiters/quota/quota_metrics.h"
#include "relay/limiters/quota/quota_settings.h"
#include "relay/limiters/quota/store_health.h"
#include "relay/limiters/quota/waiting_calls.h"
#include "relay/metrics/metric_families.h"
#include "relay/process/file_mark.h"
#include "relay/server/http.h"
#include "relay/trace/tracer.h"

namespace weir {

class QuotaService {
 public:
  // Decisions are traced unless `tracer` is null; it outlives the service's last request.
  static Result<std::unique_ptr<QuotaService>> Open(const QuotaSettings& settings, Tracer* tracer = nullptr);
  // Stops, if Stop was not called.
  ~QuotaService();

  // Returns the answer to a client that may not administer, as Admin::Refusal does.
  using Refusal = std::function<std::optional<HttpResponse>(const HttpRequest&)>;
  // Adds the routes that the settings serve. `service` is asked for each request: it may be opened after the routes are
  // made.
  static void AddRoutes(HttpRouter& router, const QuotaSettings& settings, const Refusal& refusal,
                        const std::function<QuotaService&()>& service);

  // For calls that are not of HTTP (quota_grpc.h): lets `make` give the reply, on a thread that may wait as long as
  // this call may. A `make` that answers later keeps `under_way` until then.
  using Make = std::function<void(QuotaLimiter& limiter, HttpReply reply, std::shared_ptr<void> under_way, Span span)>;
  void Perform(QuotaRoute::Call call, const HttpRequest& request, HttpReply reply, WaitingCalls::Busy busy, Make make);

  void AppendMetrics(MetricFamilies& families) const;
  void AppendLive(LiveTables& tables) const;
  // Returns an error if it cannot decide (store_health.h).
  Status Ready(std::string* note = nullptr) const;

  // Reads the configuration file again, on the service's own thread, which also sees within two of its looks that the
  // file has changed. On an error, which is logged, the running configuration stays.
  void ReloadSoon();
  // Returns how long Stop may have to wait for a call of the store that has begun.
  std::chrono::milliseconds longest_call() const;
  // True if no count would be lost if the process ended now.
  bool all_is_in_store() const;
  // Waits for the answers that are owed, and writes down what is only in memory. Call it once, when no request comes
  // any more.
  void Stop();

 private:
  QuotaService(const QuotaSettings& settings, std::unique_ptr<QuotaStore> store, const QuotaConfig& config,
               Tracer* tracer);

  Span BeginSpan(QuotaRoute::Call call, const HttpRequest& request) const;
  void Answer(const QuotaRoute& route, const HttpRequest& request, HttpReply reply, QuotaAudience audience);
  void Run(const std::stop_token& stop);
  bool AwaitLook(const std::stop_token& stop);
  void Wake(bool* why);
  void Reload();
  bool ReadConfig();
  void LogStated(const Result<std::vector<std::string>>& stated);
  void LogDifferences(const std::stop_token& stop);

  std::mutex mutex_;  // guards the three members below
  std::condition_variable_any changed_;
  bool reload_wanted_ = false;
  bool store_failed_ = false;

  // In order from the ground up: later members use earlier ones, and are destroyed before them.
  const QuotaSettings settings_;
  Tracer* const tracer_;
  const std::unique_ptr<QuotaStore> store_;
  QuotaMetrics metrics_;
  QuotaLimiter limiter_;
  QuotaApi api_;
  CallsUnderWay calls_;
  WaitingCalls waiting_;

  // Used by Open, then by the thread.
  StoreLog store_log_;
  FileWatch file_;
  bool has_section_ = false;  // the file that was read has a section of quotas
  std::string stating_error_;

  bool stopped_ = false;
  std::jthread thread_;  // destroyed first
};

}  // namespace weir
