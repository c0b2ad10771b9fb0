// The configuration files of envoyproxy/ratelimit: all *.yaml and *.yml of a directory, a domain each, as an editor or
// Kubernetes' ConfigMap puts them there.
//
//   domain: messaging
//   descriptors:
//     - key: message_type
//       value: marketing              # that very value; with a *, a pattern; without it, any value
//       descriptors:                  # for longer descriptors
//         - key: to_number
//           rate_limit:
//             unit: day               # second | minute | hour | day | week | month (of 30 days) | year (of 365)
//             requests_per_unit: 5
//             name: a_number          # by which another limit can replace it
//             replaces: [{name: other}]
//           shadow_mode: true         # counts and refuses nothing
//           quota_mode: true          # refuses only if all limits of a request that have it are over
//     - {key: route, value: "api/*", share_threshold: true, rate_limit: {unit: hour, requests_per_unit: 10}}
//     - {key: internal, rate_limit: {unlimited: true}}
//
// detailed_metric, value_to_metric and metadata are accepted, with a warning: they change no decision.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/status.h"
#include "throttle/descriptors/descriptor_rules.h"

namespace weir {

// Returns the paths of the files, sorted; none if the directory cannot be read.
std::vector<std::string> EnvoyRuleFiles(const std::string& directory);

struct EnvoyRulesRead {
  std::shared_ptr<const DescriptorRules> rules;
  std::vector<std::string> warnings;
  std::string summary;
};
// Rules that are in `before` too keep their counts. An error tells of each file that is wrong.
Result<EnvoyRulesRead> ReadEnvoyRules(const std::string& directory, const DescriptorRules* before = nullptr);

}  // namespace weir
