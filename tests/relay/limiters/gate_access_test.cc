// The clients that a gate turns away before a limiter decides: pages of other sites, and whoever the settings leave
// out.
#include <functional>
#include <string>
#include <vector>

#include "tests/relay/limiters/gate_server_fixture.h"

namespace weir {
namespace {

struct LimiterCall {
  const char* name;
  const char* method;
  const char* path;
  const char* body = "";
};

constexpr LimiterCall kDecide{"a decision", "POST", "/v1/decide", R"({"model":"gpt-4o","tokens":9,"charge":true})"};
constexpr LimiterCall kModel{"a model", "GET", "/v1/models/gpt-4o"};
constexpr LimiterCall kGrant{"a grant", "GET", "/rate/a"};
constexpr LimiterCall kKeys{"the keys", "GET", "/debug"};
constexpr LimiterCall kTurn{"a turn", "GET", "/api"};
constexpr LimiterCall kEndpoints{"the endpoints", "GET", "/debug/endpoints"};
constexpr LimiterCall kHit{"a hit", "POST", "/json",
                           R"({"domain":"d","descriptors":[{"entries":[{"key":"a","value":"1"}]}]})"};
constexpr LimiterCall kRules{"the rules", "GET", "/debug/ratelimit"};

// A gate with all limiters.
class GateAccessTest : public GateServerTest {
 protected:
  GateAccessTest() {
    configuration_.limiters.quota.config_file =
        directory_.Write("weir.yaml", "endpoints:\n  - {path: /api, rate: 1000000}\n");
    rules_.Write("a.yaml", "domain: d\ndescriptors:\n  - {key: a, rate_limit: {unit: year, requests_per_unit: 9}}\n");
    configuration_.limiters.envoy.rules_directory = rules_.path();
  }
  RawAnswer Make(const LimiterCall& call, const std::string& fields = "") const {
    return Ask(call.method, call.path, call.body, fields);
  }

  TempDirectory rules_;
};

TEST_F(GateAccessTest, PagesOfOtherSitesSpendNothing) {
  Open();
  const LimiterCall spending[] = {
      kDecide,
      {"a reset of the quotas", "DELETE", "/v1/state"},
      kGrant,
      {"a grant by POST", "POST", "/rate/a"},
      {"a grant by HEAD", "HEAD", "/rate/a"},
      {"the return of a grant", "DELETE", "/rate/a/0000000000000000"},
      kTurn,
      kHit,
  };
  for (const std::string field : {"Origin: https://example.org\r\n", "Origin: http://127.0.0.1:8080\r\n",
                                  "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"}) {
    for (const LimiterCall& call : spending) {
      SCOPED_TRACE(call.name + (" of a page with " + field));
      const RawAnswer refused = Make(call, field);
      EXPECT_EQ(refused.status, 403);
      EXPECT_EQ(Has(refused.body, R"("code":"forbidden")"), std::string(call.method) != "HEAD") << refused.body;
    }
    for (const LimiterCall& call : {kModel, kKeys, kEndpoints, kRules})
      EXPECT_EQ(Make(call, field).status, 200) << call.name << " is shown to a page with " << field;
  }
  EXPECT_TRUE(Has(Make(kModel).body, R"("tpm":0)"));
  EXPECT_EQ(Ask("GET", "/debug/a").status, 404);
  EXPECT_TRUE(Has(Make(kEndpoints).body, R"("served":0)"));
  EXPECT_TRUE(Has(Make(kRules).body, R"("hits":0)"));
}

TEST_F(GateAccessTest, PagesOfItsOwnAreServed) {
  Open();
  for (const LimiterCall& call : {kDecide, kGrant, kTurn, kHit}) {
    EXPECT_EQ(Make(call, "Origin: http://127.0.0.1\r\n").status, 200) << call.name;
    EXPECT_EQ(Make(call, "Origin: http://127.0.0.1\r\nSec-Fetch-Site: same-origin\r\n").status, 200) << call.name;
  }
}

TEST_F(GateAccessTest, ServesOnlyClientsThatTheSettingAllows) {
  configuration_.admin_from_loopback = AdminFromLoopback::kFalse;
  configuration_.admin.admin_token = "a secret";
  const std::string token = "Authorization: Bearer a secret\r\n";
  ServedLimiterSettings& limiters = configuration_.limiters;
  const struct {
    const char* name;  // its metrics begin with it
    std::vector<LimiterCall> calls;
    std::function<void(bool for_admins)> serve;  // false: serves nobody
  } cases[] = {
      {"weir_quota",
       {kDecide, kModel},
       [&](bool for_admins) { limiters.quota.api = for_admins ? ServedQuotaApi::kAdmins : ServedQuotaApi::kOff; }},
      {"weir_keyed",
       {kGrant, kKeys, {"a key", "GET", "/debug/a"}},
       [&](bool for_admins) { limiters.keyed.api = for_admins ? ServedKeyedApi::kAdmins : ServedKeyedApi::kOff; }},
      {"weir_queued",
       {kTurn, kEndpoints},
       [&](bool for_admins) { limiters.queued.api = for_admins ? ServedQueuedApi::kAdmins : ServedQueuedApi::kOff; }},
      {"weir_ratelimit",
       {kHit, kRules},
       [&](bool for_admins) { limiters.envoy.api = for_admins ? ServedEnvoyApi::kAdmins : ServedEnvoyApi::kOff; }},
  };
  const ServedLimiterSettings all = limiters;
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    limiters = all;
    c.serve(true);
    Open();
    for (const LimiterCall& call : c.calls) {
      const RawAnswer refused = Make(call);
      EXPECT_EQ(refused.status, 401) << call.name;
      EXPECT_EQ(refused.headers.at("content-type"), "application/json") << call.name;
      EXPECT_EQ(Make(call, token).status, 200) << call.name;
    }
    EXPECT_EQ(Make(c.calls[0], token + "Origin: https://example.org\r\n").status, 403);
    EXPECT_EQ(Ask("GET", "/other").status, 404);
    EXPECT_EQ(Ask("GET", "/json").status, 405);
    server_.reset();
    c.serve(false);
    Open();
    for (const LimiterCall& call : c.calls) EXPECT_EQ(Make(call).status, 404) << call.name;
    EXPECT_FALSE(Has(Ask("GET", "/metrics").body, std::string(c.name) + "_"));
    server_.reset();
  }
}

}  // namespace
}  // namespace weir
