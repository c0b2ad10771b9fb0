// QuotaService: serves the quotas on the routes of a server. It owns the store that the settings name, the limiter and
// the metrics, and reads the configuration file again when the file changes.
//
//   auto quotas = QuotaService::Open(settings);             // "sqlite:quota.db: …"
//   QuotaService::AddRoutes(router, settings, refusal, [&]() -> QuotaService& { return *quotas.value(); });
//   … server …
//   quotas.value()->Stop();                              // when no connection is left
//
// Threads: any thread may call all functions other than AddRoutes and Stop.
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
#include "relay/net/http.h"
#include "relay/observe/metrics/metric_families.h"
#include "relay/observe/trace/tracer.h"
#include "relay/process/file_mark.h"

namespace weir {

class QuotaService {
 public:
  // Opens the store, reads the configuration file, and starts the service's thread, which watches the file and prunes
  // the store. Returns an error if the file is wrong or the store cannot be used; a Redis that does not answer is not
  // an error. If `tracer` is not null, calls are traced; it must then live until the last request is answered.
  static Result<std::unique_ptr<QuotaService>> Open(const QuotaSettings& settings, Tracer* tracer = nullptr);
  // Calls Stop.
  ~QuotaService();

  // Returns nullopt if the client is an administrator, else the answer that refuses the request (Admin::Refusal).
  using Refusal = std::function<std::optional<HttpResponse>(const HttpRequest&)>;
  // Adds the routes, for HTTP and gRPC, unless the settings turn them off. `service` returns the QuotaService; it is
  // called for each request, so the QuotaService may be opened after AddRoutes.
  static void AddRoutes(HttpRouter& router, const QuotaSettings& settings, const Refusal& refusal,
                        const std::function<QuotaService&()>& service);

  // Performs a call that came in a form other than JSON over HTTP (quota_grpc.h). Calls `make`, which must pass the
  // call to the limiter and then call `reply` once. If the call may block on the store (QuotaApi::MayWait), `make` runs
  // later on a thread of WaitingCalls; otherwise it runs before Perform returns. If `make` calls `reply` only after it
  // has returned, it must keep `under_way` until then, so that Stop waits for the call. If WaitingCalls refuses the
  // call, the client gets the answer that `busy` makes, and `make` is not called.
  using Make = std::function<void(QuotaLimiter& limiter, HttpReply reply, std::shared_ptr<void> under_way, Span span)>;
  void Perform(QuotaRoute::Call call, const HttpRequest& request, HttpReply reply, WaitingCalls::Busy busy, Make make);

  void AppendMetrics(MetricFamilies& families) const;
  void AppendLive(LiveTables& tables) const;
  // Returns an error if the service cannot decide any request. May write a problem to *note (CanDecide,
  // store_health.h).
  Status Ready(std::string* note = nullptr) const;

  // Asks the service's thread to read the configuration file again. Without being asked, that thread reads the file
  // when it has changed and was then unchanged for a QuotaSettings::watch_interval. If the file is wrong, the thread
  // logs the error, and the old configuration stays.
  void ReloadSoon();
  // Returns the longest time for which a call may block on the store: SQLite's wait for a lock. 0 for other stores.
  std::chrono::milliseconds longest_call() const;
  // Returns true if Stop has no counts to write to the store. Returns false for every store in memory, because the
  // service cannot see whether Stop will write its counts to a file (`yaml:`) or not (`memory`).
  bool all_is_in_store() const;
  // Ends the service's thread, waits until all calls are answered, and writes counts that are only in memory to the
  // store. If that fails, logs the error. Call Stop when no more requests come. A second call does nothing.
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

  std::mutex mutex_;  // protects reload_wanted_ and store_failed_
  std::condition_variable_any changed_;
  bool reload_wanted_ = false;
  bool store_failed_ = false;

  // The order matters: later members use earlier ones, and are destroyed before them.
  const QuotaSettings settings_;
  Tracer* const tracer_;
  const std::unique_ptr<QuotaStore> store_;
  QuotaMetrics metrics_;
  QuotaLimiter limiter_;
  QuotaApi api_;
  CallsUnderWay calls_;
  WaitingCalls waiting_;

  // Used by Open, and then only by the service's thread.
  StoreLog store_log_;
  FileWatch file_;
  bool has_section_ = false;   // the configuration file had the section `quota` when it was last read without an error
  std::string stating_error_;  // the newest error of QuotaLimiter::StateQuotas; empty if it succeeded

  bool stopped_ = false;  // Stop was called
  std::jthread thread_;   // destroyed first
};

}  // namespace weir
