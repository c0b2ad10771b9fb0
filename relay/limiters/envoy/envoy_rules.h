// Reads the configuration files of envoyproxy/ratelimit: all files *.yaml and *.yml of a directory, each with one
// domain. Hidden files are skipped; symbolic links are followed, because a ConfigMap of Kubernetes consists of them.
//
//   domain: messaging
//   descriptors:
//     - key: message_type
//       value: marketing              # matches this value; a pattern if it has a *; without `value`, any value matches
//       descriptors:                  # rules for the next entry of a descriptor
//         - key: to_number
//           rate_limit:
//             unit: day               # second | minute | hour | day | week | month (of 30 days) | year (of 365)
//             requests_per_unit: 5
//             name: a_number          # a name for the `replaces` of other limits
//             replaces: [{name: other}]
//           shadow_mode: true         # the limit counts, but refuses nothing
//           quota_mode: true          # refuses a request only if it exceeds all of its limits with quota_mode
//     - {key: route, value: "api/*", share_threshold: true, rate_limit: {unit: hour, requests_per_unit: 10}}
//     - {key: internal, rate_limit: {unlimited: true}}
//
// With share_threshold, all values that match a pattern have one count together. detailed_metric, value_to_metric and
// metadata are accepted, because they change no decision; the log warns that they have no effect.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/status.h"
#include "throttle/limits/descriptors/descriptor_rules.h"

namespace weir {

// Returns the paths of these files in the directory, sorted; none if the directory cannot be read.
std::vector<std::string> EnvoyRuleFiles(const std::string& directory);

struct EnvoyRulesRead {
  std::shared_ptr<const DescriptorRules> rules;
  std::vector<std::string> warnings;  // for the log
  std::string summary;                // for the log
};
// Reads the files. A rule that is also in `before` keeps its counts for the metrics; `before` may be null. Returns an
// error if the directory has no such file or more than 1000, or if a file is wrong. The error has a line for each
// mistake, at most 20 for each file.
Result<EnvoyRulesRead> ReadEnvoyRules(const std::string& directory, const DescriptorRules* before = nullptr);

}  // namespace weir
