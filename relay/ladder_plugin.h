// LadderPlugin: the part of a relay (RelayPlugin) that owns the trust ladder (relay/standing/). It shows the ladder at
// /metrics and /live, and adds the method `explainstanding` for administrators, which `weir who` calls.
#pragma once

#include <memory>
#include <string>

#include "relay/management/management_methods.h"
#include "relay/relay_plugin.h"
#include "relay/standing/ladder.h"
#include "relay/standing/standings.h"
#include "relay/standing/stranger_share.h"

namespace weir {

class LadderPlugin final : public RelayPlugin {
 public:
  // Adds the method `explainstanding` to `methods`, which must not be called after this object has gone. Its parameter
  // is an npub or a key in hexadecimal; the result is an object with "pubkey", "npub", "rung", "ladder" ("observe" or
  // "on"), and "explanation", a list of sentences whose subject is the author.
  explicit LadderPlugin(ManagementMethods& methods);

  Status Start(const RelayServices& services) override;
  void Stop() override;
  void AppendMetrics(MetricFamilies& families) const override;
  void AppendLive(LiveTables& tables) const override;

 private:
  Result<ManagementResult> ExplainStanding(const std::string& text) const;

  // Null if the ladder is off. They outlive the relay's pipeline, which uses them until it has stopped.
  std::unique_ptr<Standings> standings_;
  std::unique_ptr<StrangerShare> share_;
  std::unique_ptr<Ladder> ladder_;
  std::atomic<bool> open_{false};  // Start has succeeded, and the ladder is not off
};

}  // namespace weir
