#include "relay/limiters_plugin.h"

#include "relay/admin/admin.h"

namespace weir {

void LimitersPlugin::Declare(SettingTable& table) { weir::Declare(table, settings_); }

void LimitersPlugin::AddRoutes(HttpRouter& router) {
  limiters_ = MakeLimiters(settings_.limiters);
  for (const auto& limiter : limiters_)
    limiter->AddRoutes(router,
                       [this](const HttpRequest& request) { return admin_->Refusal(request, AdminRight::kAll); });
}

Status LimitersPlugin::Start(const RelayServices& services) {
  admin_ = &services.admin;
  Status status = OpenAll(limiters_, services.context.tracer);
  open_ = status.ok();
  return status;
}

void LimitersPlugin::Stop() {
  if (!open_) return;
  for (const auto& limiter : limiters_) limiter->Stop();
}

void LimitersPlugin::HangUp() {
  if (!open_) return;
  for (const auto& limiter : limiters_) limiter->ReloadSoon();
}

void LimitersPlugin::AppendMetrics(MetricFamilies& families) const {
  if (!open_) return;
  for (const auto& limiter : limiters_) limiter->AppendMetrics(families);
}

void LimitersPlugin::AppendLive(LiveTables& tables) const {
  if (!open_) return;
  for (const auto& limiter : limiters_) limiter->AppendLive(tables);
}

}  // namespace weir
