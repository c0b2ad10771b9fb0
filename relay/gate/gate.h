// QuotaGate: the quotas as a whole, for whoever has a server: the store that the settings name, the limiter with the
// configuration file's quotas, read again when it changes, the API's routes and the metrics.
//
//   auto gate = QuotaGate::Open(settings);             // "sqlite:quota.db: …"
//   gate.value()->AddRoutes(router, may_administer);
//   … server …
//   gate.value()->Stop();                              // when no connection is left
//
// Threads: any, where not said otherwise.
#pragma once

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
  // Stops, where that was not done. Whoever calls Answer is gone.
  ~QuotaGate();

  // The answer to who may not administer, as Admin::Refusal.
  using Refusal = std::function<std::optional<HttpResponse>(const HttpRequest&)>;
  void AddRoutes(HttpRouter& router, Refusal refusal);
  // What the route of AddRoutes does: waits for nothing.
  void Answer(const QuotaRoute& route, const HttpRequest& request, const Refusal& refusal, HttpReply reply);

  void AppendMetrics(MetricFamilies& families) const;
  // Whether it can decide: the store answers, or the policy is to go on without.
  Status Ready() const;

  // Reads the configuration file again. On an error, which is logged, what runs goes on.
  Status Reload();
  // The same, on the gate's own thread, which also sees within two seconds that the file has changed.
  void ReloadSoon();
  // Waits for the answers that are owed, and writes down what is only in memory. Once; Answer was called for the last
  // time.
  void Stop();

  QuotaLimiter& limiter();

 private:
  struct Rep;
  explicit QuotaGate(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
