#include "relay/operator/orly_access.h"

#include <gtest/gtest.h>

#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

TEST(OrlyAccess, ASettingThatWouldLeaveTheRelayOpenIsAWarning) {
  for (const char* variable : {"ORLY_ACL_MODE", "ORLY_IP_WHITELIST", "ORLY_IP_BLACKLIST", "ORLY_ADMINS",
                               "ORLY_AUTH_TO_WRITE", "ORLY_POLICY_ENABLED", "ORLY_SUBSCRIPTION_ENABLED"}) {
    const std::vector<std::string> warnings = WarnOfOrlyAccess({{variable, "true"}, {"ORLY_PORT", "3334"}});
    ASSERT_EQ(warnings.size(), 1U) << variable;
    EXPECT_TRUE(warnings[0].starts_with(std::string(variable) + " is not read by weir, ")) << warnings[0];
    EXPECT_TRUE(Has(warnings[0], "set ")) << warnings[0];
  }
}

TEST(OrlyAccess, WhatIsOffIsNoWarning) {
  EXPECT_TRUE(WarnOfOrlyAccess({}).empty());
  EXPECT_TRUE(WarnOfOrlyAccess({{"ORLY_ACL_MODE", "none"},
                                {"ORLY_SUBSCRIPTION_ENABLED", "false"},
                                {"ORLY_ADMINS", " "},
                                {"ORLY_LISTEN", "0.0.0.0"}})
                  .empty());
}

}  // namespace
}  // namespace weir
