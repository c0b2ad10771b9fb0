#include "relay/gate/gate_part.h"

#include <utility>

#include "relay/admin.h"
#include "relay/gate/gate.h"

namespace weir {

GatePart::GatePart(GateSettings settings) : settings_{.gate = std::move(settings)} {}
GatePart::~GatePart() = default;

void GatePart::Declare(SettingTable& table) { weir::Declare(table, settings_); }

void GatePart::AddRoutes(HttpRouter& router) {
  QuotaGate::AddRoutes(
      router, settings_.gate, [this](const HttpRequest& request) { return admin_->Refusal(request); },
      [this]() -> QuotaGate& { return *gate_; });
}

Status GatePart::Start(const RelayServices& services) {
  if (settings_.gate.api == ServedQuotaApi::kOff) return Status();
  auto gate = QuotaGate::Open(settings_.gate);
  if (!gate.ok()) return gate.status();
  admin_ = &services.admin;
  gate_ = std::move(gate).value();
  return Status();
}

void GatePart::Stop() {
  if (gate_) gate_->Stop();
}

void GatePart::HangUp() {
  if (gate_) gate_->ReloadSoon();
}

void GatePart::AppendMetrics(MetricFamilies& families) const {
  if (gate_) gate_->AppendMetrics(families);
}

}  // namespace weir
