#include "relay/operator/orly_access.h"

#include <utility>

#include "config/text/parse.h"

namespace weir {
namespace {

constexpr std::pair<const char*, const char*> kCounterparts[] = {
    {"ORLY_ACL_MODE", "so all may write; set relay.write.allow in weir.yaml (WEIR_CONFIG)"},
    {"ORLY_ADMINS", "except as WEIR_TRUST_FROM; set WEIR_RELAY_ADMINS, which says what each of these keys may do"},
    {"ORLY_AUTH_TO_WRITE", "so all may write; set WEIR_AUTH_REQUIRED, which also concerns reading"},
    {"ORLY_FOLLOWS_THROTTLE", "set WEIR_LADDER=on, which trusts ORLY_ADMINS and whom they follow"},
    {"ORLY_IP_BLACKLIST",
     "set relay.write.deny.addresses and relay.read.deny.addresses in weir.yaml (WEIR_CONFIG), with networks such as "
     "10.1.0.0/16"},
    {"ORLY_IP_WHITELIST",
     "so all addresses may connect; set relay.write.allow.addresses and relay.read.allow.addresses in weir.yaml "
     "(WEIR_CONFIG), with networks such as 10.1.0.0/16"},
    {"ORLY_NIP46_BYPASS_AUTH", "with relay.write.allow.authors in weir.yaml, set open_kinds: [24133]"},
    {"ORLY_POLICY_ENABLED", "so the policy file is not read; set the section relay in weir.yaml (WEIR_CONFIG)"},
    {"ORLY_SPROCKET_ENABLED", "so the sprocket does not run; set WEIR_WRITE_PLUGIN"},
    {"ORLY_SUBSCRIPTION_ENABLED", "so all may write without paying; set relay.write.allow in weir.yaml (WEIR_CONFIG)"},
};

}  // namespace

std::vector<std::string> WarnOfOrlyAccess(const Environment& environment) {
  std::vector<std::string> warnings;
  for (const auto& [variable, counterpart] : kCounterparts) {
    const auto found = environment.find(variable);
    const std::string_view value = found == environment.end() ? "" : TrimBlanks(found->second);
    if (value.empty() || value == "none" || value == "false") continue;
    warnings.push_back(std::string(variable) + " is not read by weir, " + counterpart);
  }
  return warnings;
}

}  // namespace weir
