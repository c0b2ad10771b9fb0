// How calls reach the limiter, over HTTP and gRPC alike.
#include "relay/limiters/quota/quota_call.h"

#include <gtest/gtest.h>

#include <string>

#include "config/manual_clock.h"
#include "tests/relay/limiters/quota/quota_api_fixture.h"
#include "throttle/limits/quota/memory_store.h"

namespace weir {
namespace {

TEST(SubmitDecision, AnInventorLocksOutItsWholeIpv6Network) {
  ManualWallClock wall(kAfternoon);
  MemoryQuotaStore store({.max_models = 1000}, wall);
  ManualClock clock;
  QuotaLimiter limiter(store, {}, clock);
  const auto take = [&](const std::string& model, const std::string& address) {
    QuotaCode code{};
    const QuotaCallBody body{.model = model, .tokens = 1, .charge = true};
    SubmitDecision(limiter, QuotaRoute::Call::kDecide, body, address, [&](const Decision& d) { code = d.code; });
    return code;
  };
  int invented = 0;
  const auto invent = [&] {
    const std::string number = std::to_string(invented);
    return take("invented " + number, "2001:db8::" + number);
  };
  while (invent() != QuotaCode::kTooManyNames) ++invented;
  EXPECT_EQ(invented, 900) << "then the store is nearly full";
  EXPECT_EQ(take("honest 1", "2001:db8:0:1::1"), QuotaCode::kUnknownModel);
  EXPECT_EQ(take("honest 2", "192.0.2.1"), QuotaCode::kUnknownModel);
  const auto warnings = limiter.StateQuotas();
  ASSERT_EQ(warnings.value().size(), 1U);
  EXPECT_TRUE(warnings.value()[0].starts_with("address 2001:db8::/64 began 900 of")) << warnings.value()[0];
}

}  // namespace
}  // namespace weir
