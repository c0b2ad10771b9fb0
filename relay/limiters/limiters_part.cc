#include "relay/limiters/limiters_part.h"

#include "relay/operator/admin.h"

namespace weir {

void LimitersPart::Declare(SettingTable& table) { weir::Declare(table, settings_); }

void LimitersPart::AddRoutes(HttpRouter& router) {
  limiters_ = MakeLimiters(settings_.limiters);
  for (const auto& limiter : limiters_)
    limiter->AddRoutes(router, [this](const HttpRequest& request) { return admin_->Refusal(request); });
}

Status LimitersPart::Start(const RelayServices& services) {
  admin_ = &services.admin;
  Status status = OpenAll(limiters_, services.context.tracer);
  open_ = status.ok();
  return status;
}

void LimitersPart::Stop() {
  if (!open_) return;
  for (const auto& limiter : limiters_) limiter->Stop();
}

void LimitersPart::HangUp() {
  if (!open_) return;
  for (const auto& limiter : limiters_) limiter->ReloadSoon();
}

void LimitersPart::AppendMetrics(MetricFamilies& families) const {
  if (!open_) return;
  for (const auto& limiter : limiters_) limiter->AppendMetrics(families);
}

void LimitersPart::AppendLive(LiveTables& tables) const {
  if (!open_) return;
  for (const auto& limiter : limiters_) limiter->AppendLive(tables);
}

}  // namespace weir
