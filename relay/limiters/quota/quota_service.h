// QuotaService: serves the quotas on the routes of a server. It owns the store that the settings name, the limiter and
// the metrics, and reads the configuration file again when that changes.
//
//   auto quotas = QuotaService::Open(settings);             // "sqlite:quota.db: …"
//   QuotaService::AddRoutes(router, settings, refusal, [&]() -> QuotaService& { return *quotas.value(); });
//   … server …
//   quotas.value()->Stop();                              // when no connection is left
//
// Threads: any, except for AddRoutes and Stop.
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
  // Opens the store, reads the configuration file and starts a thread that looks after both. Returns an error if the
  // file is wrong or the store cannot be used; a Redis that does not answer is no error. Decisions are traced if
  // `tracer` is not null; it must live until the last request is answered.
  static Result<std::unique_ptr<QuotaService>> Open(const QuotaSettings& settings, Tracer* tracer = nullptr);
  // Calls Stop, if that was not called.
  ~QuotaService();

  // Returns the answer to a client that is no administrator, or nullopt for an administrator, as Admin::Refusal does.
  using Refusal = std::function<std::optional<HttpResponse>(const HttpRequest&)>;
  // Adds the routes, for HTTP and gRPC, unless the settings turn them off. `service` is called for each request, so the
  // service may be opened after this.
  static void AddRoutes(HttpRouter& router, const QuotaSettings& settings, const Refusal& refusal,
                        const std::function<QuotaService&()>& service);

  // Makes a call that came in a form other than JSON over HTTP (quota_grpc.h). Calls `make`, at once or later, on a
  // thread that may wait for the store if this call has to; `make` must reply. If it replies only after it has
  // returned, it must keep `under_way` until then. If the call may wait and is refused before it runs (WaitingCalls),
  // `busy` makes the answer, and `make` is not called.
  using Make = std::function<void(QuotaLimiter& limiter, HttpReply reply, std::shared_ptr<void> under_way, Span span)>;
  void Perform(QuotaRoute::Call call, const HttpRequest& request, HttpReply reply, WaitingCalls::Busy busy, Make make);

  void AppendMetrics(MetricFamilies& families) const;
  void AppendLive(LiveTables& tables) const;
  // Returns an error if nothing can be decided, and may write to *note (CanDecide in store_health.h).
  Status Ready(std::string* note = nullptr) const;

  // Asks the service's own thread to read the configuration file again. That thread also reads the file by itself after
  // a change, at the second look at the latest (QuotaSettings::watch_interval). If the file is wrong, the error is
  // logged and the running configuration stays.
  void ReloadSoon();
  // Returns the longest time that Stop may have to wait for a call of the store that has begun.
  std::chrono::milliseconds longest_call() const;
  // Returns false if Stop may have counts to write to the store.
  bool all_is_in_store() const;
  // Ends the service's thread, waits until all calls are answered, and writes to the store what is only in memory. If
  // writing fails, the error is logged. Call this when no requests come any more. A second call does nothing.
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

  std::mutex mutex_;  // guards reload_wanted_ and store_failed_
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

  // Used by Open, then only by the service's thread.
  StoreLog store_log_;
  FileWatch file_;
  bool has_section_ = false;   // the configuration file, as it was read, has the section `quota`
  std::string stating_error_;  // the newest error of StateQuotas; empty after a success

  bool stopped_ = false;  // Stop was called
  std::jthread thread_;   // destroyed first
};

}  // namespace weir
