// RulesPlugin: the part of a relay (RelayPlugin) that reads the operator's rules from weir.yaml and follows the file.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "relay/limiters/config_reads.h"
#include "relay/relay_plugin.h"
#include "relay/rules/rules_in_force.h"

namespace weir {

class RulesPlugin final : public RelayPlugin {
 public:
  // `config_file` returns the path of weir.yaml, empty if there is none. Start calls it.
  explicit RulesPlugin(std::function<std::string()> config_file) : config_file_(std::move(config_file)) {}

  // Returns an error if the rules are wrong.
  Status Start(const RelayServices& services) override;
  void Stop() override;
  void HangUp() override;
  void AppendMetrics(MetricFamilies& families) const override;

 private:
  const std::function<std::string()> config_file_;
  std::shared_ptr<RulesInForce> rules_;  // set by Start
  ConfigReads reads_;
  std::atomic<bool> open_{false};  // Start has succeeded
};

}  // namespace weir
