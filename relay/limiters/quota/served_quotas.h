// ServedQuotas: serves the quotas on a port (ServedLimiter), by means of a QuotaService.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "relay/limiters/quota/quota_grpc.h"
#include "relay/limiters/quota/quota_service.h"
#include "relay/limiters/quota/quota_settings.h"
#include "relay/limiters/served_limiter.h"

namespace weir {

class ServedQuotas final : public ServedLimiter {
 public:
  explicit ServedQuotas(QuotaSettings settings) : settings_(std::move(settings)) {}

  void AddRoutes(HttpRouter& router, const Refusal& refusal) override {
    QuotaService::AddRoutes(router, settings_, refusal, [this]() -> QuotaService& { return *quotas_; });
  }
  // Returns an error if the configuration file is wrong or the store cannot be used. A Redis that does not answer is
  // not an error.
  Status Open(Tracer* tracer) override {
    auto opened = QuotaService::Open(settings_, tracer);
    if (opened.ok()) quotas_ = std::move(opened).value();
    return opened.status();
  }
  std::string_view grpc_service() const override { return kQuotaGrpcService; }
  Status Ready(std::string* note) const override { return quotas_->Ready(note); }
  void AppendMetrics(MetricFamilies& families) const override { quotas_->AppendMetrics(families); }
  void AppendLive(LiveTables& tables) const override { quotas_->AppendLive(tables); }
  void ReloadSoon() override { quotas_->ReloadSoon(); }
  std::chrono::milliseconds longest_call() const override { return quotas_->longest_call(); }
  bool all_is_in_store() const override { return quotas_->all_is_in_store(); }
  void Stop() override { quotas_->Stop(); }

 private:
  const QuotaSettings settings_;
  std::unique_ptr<QuotaService> quotas_;  // set by Open
};

}  // namespace weir
