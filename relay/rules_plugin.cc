#include "relay/rules_plugin.h"

namespace weir {

Status RulesPlugin::Start(const RelayServices& services) {
  rules_ = services.context.rules;
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
  if (open_) rules_->AppendMetrics(families);
}

}  // namespace weir
