// Reads the rules about what the relay keeps (retention_rules.h), from weir.yaml:
//
//   relay:
//     retention:
//       keep:                                        # never removed, neither for age nor for the disk budget
//         - {from: trusted}                          # authors on this rung of the trust ladder or above
//         - {kinds: [0, 3, 10002], from: newcomer}
//         - {authors_file: friends.txt}              # or authors: […]
//       remove:                                      # removed when created_at is this long ago
//         - {kinds: [7], older_than: 30d}            # s, m, h or d
//         - {kinds: [1], below: regular, older_than: 90d}
//         - {older_than: 730d, all: true}            # a rule about all events says so
//
// A rule that can have no effect is an error.
#pragma once

#include "config/yaml_reader.h"
#include "relay/rules/retention_rules.h"
#include "relay/rules/rule_values.h"

namespace weir {

// Reads the value of `retention`, which may be absent.
RetentionRules ReadRetention(const YamlValue& value, const RuleFiles& files);

}  // namespace weir
