// QuotaGate: the quotas as a whole, for whoever has a server: the store that the settings name, the limiter with the
// configuration file's quotas, read again when it changes, the API's routes and the metrics.
//
//   auto gate = QuotaGate::Open(settings);             // "sqlite:quota.db: …"
//   QuotaGate::AddRoutes(router, settings, refusal, [&]() -> QuotaGate& { return *gate.value(); });
//   … server …
//   gate.value()->Stop();                              // when no connection is left
//
// Threads: any, where not said otherwise.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/status.h"
#include "relay/gate/gate_settings.h"
#include "relay/gate/quota_api.h"
#include "relay/metric_families.h"
#include "relay/server/http.h"

namespace weir {

class QuotaGate {
 public:
  static Result<std::unique_ptr<QuotaGate>> Open(const GateSettings& settings);
  // Stops, where that was not done.
  ~QuotaGate();

  // The answer to who may not administer, as Admin::Refusal.
  using Refusal = std::function<std::optional<HttpResponse>(const HttpRequest&)>;
  // Those that the settings serve. `gate` is asked for each request: it may be opened after the routes are made.
  static void AddRoutes(HttpRouter& router, const GateSettings& settings, const Refusal& refusal,
                        const std::function<QuotaGate&()>& gate);

  void AppendMetrics(MetricFamilies& families) const;
  // Whether it can decide (serving.h).
  Status Ready() const;

  // Reads the configuration file again, on the gate's own thread, which also sees within two of its looks that the file
  // has changed. On an error, which is logged, what runs goes on.
  void ReloadSoon();
  // What Stop may have to wait for: a call of the store that has begun.
  std::chrono::milliseconds longest_call() const;
  // Nothing that was counted would be lost if the process ended now.
  bool all_is_in_store() const;
  // Waits for the answers that are owed, and writes down what is only in memory. Once; no request comes any more.
  void Stop();

 private:
  struct Rep;
  explicit QuotaGate(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
