#include "relay/rules_plugin.h"

#include <iterator>

namespace weir {

Status RulesPlugin::Start(const RelayServices& services) {
  rules_ = services.context.rules;
  rules_->OnRead([this](bool good) { reads_.Note(good); });
  Status status = rules_->Open(config_file_());
  open_ = status.ok();
  return status;
}

void RulesPlugin::Stop() {
  if (open_) rules_->Stop();
}

void RulesPlugin::HangUp() {
  if (open_) rules_->ReadSoon();
}

void RulesPlugin::AppendMetrics(MetricFamilies& families) const {
  if (!open_) return;
  families.Counter("weir_rules_refusals_total", "Events and requests that a rule refused, by the kind of the rule");
  for (size_t i = 0; i < std::size(kRuleKindNames); ++i) {
    const RulesInForce::Refusals refusals = rules_->RefusalsBy(static_cast<RuleKind>(i));
    families.Add(refusals.events, {{"of", "event"}, {"rule", kRuleKindNames[i]}});
    families.Add(refusals.requests, {{"of", "request"}, {"rule", kRuleKindNames[i]}});
  }
  reads_.AppendTo(families, "weir_rules");
}

}  // namespace weir
