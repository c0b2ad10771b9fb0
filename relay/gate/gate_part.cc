#include "relay/gate/gate_part.h"

#include <string>
#include <utility>

#include "relay/admin.h"
#include "relay/gate/gate.h"

namespace weir {

GatePart::GatePart(GateSettings settings) : settings_(std::move(settings)) {}
GatePart::~GatePart() = default;

void GatePart::AddRoutes(HttpRouter& router) {
  const auto refusal = [this](const HttpRequest& request) { return admin_->Refusal(request); };
  for (const QuotaRoute& route : QuotaApi::Routes()) {
    router.AddDeferred(std::string(route.method), std::string(route.path),
                       [this, &route, refusal](const HttpRequest& request, HttpReply reply) {
                         gate_->Answer(route, request, refusal, std::move(reply));
                       });
  }
}

Status GatePart::Start(const RelayServices& services) {
  auto gate = QuotaGate::Open(settings_);
  if (!gate.ok()) return gate.status();
  admin_ = &services.admin;
  gate_ = std::move(gate).value();
  return Status();
}

void GatePart::Stop() {
  if (gate_) gate_->Stop();
}

void GatePart::AppendMetrics(MetricFamilies& families) const {
  if (gate_) gate_->AppendMetrics(families);
}

}  // namespace weir
