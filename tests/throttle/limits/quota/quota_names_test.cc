// Names in a configuration: a denied model is denied under all its names; what "*" stands for; an API key's tenant; and
// a name that no request can have is an error at its position.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/quota_config_reader.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {
namespace {

Status Read(const std::string& yaml, QuotaConfig* config) {
  return ReadYaml(yaml, "w.yaml", [&](YamlMap& root) { ReadQuotaSection(root.Required("quota"), config); });
}

class QuotaNames : public testing::Test {
 protected:
  void Use(const std::string& yaml) {
    QuotaConfig config;
    ASSERT_EQ(Read(yaml, &config).message(), "") << yaml;
    ASSERT_EQ(CheckQuotaConfig(config).message(), "") << yaml;
    limiter_.emplace(store_, std::move(config));
  }
  Decision Take(std::string_view model, const Requester& requester = {}) {
    return limiter_->Take({.model = model, .requester = requester});
  }
  bool Denies(std::string_view model, const Requester& requester = {}) {
    const Decision decision = limiter_->Decide({.model = model, .requester = requester});
    EXPECT_EQ(decision.allowed, decision.code != QuotaCode::kDenied) << decision.reason;
    return !decision.allowed;
  }

  MemoryQuotaStore store_;
  std::optional<QuotaLimiter> limiter_;
};

TEST_F(QuotaNames, AModelIsDeniedByItsNameAsSentAsCountedAndByPattern) {
  struct Case {
    std::string denied;
    std::string_view model;
    bool is_denied;
  };
  const Case cases[] = {
      {"gpt-4o-2024-05-13", "gpt-4o-2024-05-13", true},
      {"gpt-4o-2024-05-13", "gpt-4o-2024-08-06", false},
      {"gpt-4o-2024-05-13", "gpt-4o", false},
      {"gpt-4o", "gpt-4o", true},
      {"gpt-4o", "gpt-4o-2024-05-13", true},
      {"gpt-4o", "chatgpt", true},
      {"gpt-4o", "gpt-4o-mini", false},
      {"gpt-4*", "gpt-4o", true},
      {"gpt-4*", "gpt-4-turbo", true},
      {"gpt-4*", "gpt-4.5", true},
      {"gpt-4*", "chatgpt", true},
      {"gpt-4*", "gpt-5", false},
      {"gpt-4o-2*", "gpt-4o-2024-05-13", true},
      {"gpt-4o-2*", "gpt-4o", false},
      {"o3*", "o3", true},
      {"o3*", "o3-mini", true},
      {"o3-2*", "o3-2025", true},
      {"o3-2*", "o3", false},
      {"*-mini", "o1-mini", true},
      {"*-mini", "o1", false},
      {"*", "anything", true},
  };
  struct Place {
    std::string_view begin;
    std::string_view end;
    Requester requester;
  };
  const Place places[] = {
      {"classes: [{name: old, models: [\"", "\"], deny: true}]", {}},
      {"tenants: {acme: {\"", "\": {deny: true}}}", {.tenant = "acme"}},
      {"tenants: {\"*\": {\"", "\": {deny: true}}}", {.user = "alice", .tenant = "acme"}},
      {"api_keys: {sk: {\"", "\": {deny: true}}}", {.api_key = "sk"}},
      {"api_keys: {\"*\": {\"", "\": {deny: true}}}", {.user = "alice", .api_key = "sk"}},
  };
  for (const Place& place : places) {
    for (const Case& c : cases) {
      const std::string tiers = std::string(place.begin) + c.denied + std::string(place.end);
      Use(R"(quota: {providers: [openai], models: {gpt-4o: {also: ["gpt-4o-2*", chatgpt]}, "o3*": {}}, tiers: {)" +
          tiers + "}}");
      EXPECT_EQ(Denies(c.model, place.requester), c.is_denied) << tiers << " " << c.model;
    }
  }
}

TEST_F(QuotaNames, ADenialOfModelsPrecedesRulesOfExactNames) {
  struct Case {
    std::string models;
    std::vector<std::string_view> denied;
    std::vector<std::string_view> others;
  };
  for (const Case& c : {
           Case{R"(gpt-4o: {also: ["gpt-4o-2*"]}, gpt-4o-2024-05-13: {deny: true})",
                {"gpt-4o-2024-05-13"},
                {"gpt-4o", "gpt-4o-2024-08-06"}},
           Case{R"("gpt-4*": {deny: true}, gpt-4-mine: {max_rpm: 5})",
                {"gpt-4o", "gpt-4o-mini", "gpt-4-turbo", "gpt-4-mine", "gpt-4.5"},
                {"o1", "my-gpt-4"}},
           Case{R"(a: {also: [b]}, b: {deny: true})", {"b"}, {"a"}},
           Case{R"(a: {deny: true, also: [b, "c*"]})", {"a", "b", "c1"}, {"d"}},
       }) {
    Use("quota: {providers: [openai], models: {" + c.models + "}}");
    for (const std::string_view model : c.denied) EXPECT_TRUE(Denies(model)) << c.models << " " << model;
    for (const std::string_view model : c.others) EXPECT_FALSE(Denies(model)) << c.models << " " << model;
  }
}

TEST_F(QuotaNames, AStarIsEveryOtherTenantOrKeyEachWithItsOwnCount) {
  for (const std::string party : {"tenants", "api_keys"}) {
    Use("quota: {providers: [], tiers: {" + party +
        ": {\"*\": {m: [{requests: 1, per: 1h}], n: [{requests: 2, per: 1h, total: true}]}, known: {m: [{requests: 2, "
        "per: 1h}]}}}}");
    const auto named = [&](std::string_view name, std::string_view user = "") {
      return party == "tenants" ? Requester{.user = user, .tenant = name} : Requester{.user = user, .api_key = name};
    };
    for (const std::string_view name : {"acme", "corp"}) {
      EXPECT_TRUE(Take("m", named(name)).allowed) << party << name;
      EXPECT_EQ(Take("m", named(name)).tier, Tier::kUserModel) << party << name;
      for (const std::string_view user : {"u", "v"}) EXPECT_TRUE(Take("n", named(name, user)).allowed) << party << name;
      EXPECT_EQ(Take("n", named(name, "w")).tier, Tier::kTotal) << party << name;
    }
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(Take("m", named("known")).allowed) << party;
    EXPECT_EQ(Take("m", named("known")).tier, Tier::kUserModel) << party;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(Take("n", named("known")).allowed) << "all of it is its own";
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(Take("m", {.user = "x"}).allowed) << party << ": names none";
    ASSERT_TRUE(store_.Reset("").ok());
  }
}

TEST_F(QuotaNames, StarTenantsCountUsersPerTenantAlsoThroughApiKeys) {
  Use(R"(
quota:
  tiers:
    tenants:
      "*": {users: {"*": [{requests: 1, per: 1h}]}}
      guests: {users: {"*": [{requests: 2, per: 1h}]}}
    api_keys:
      sk-acme: {tenant: acme}
      "*": {tenant: guests}
)");
  EXPECT_TRUE(Take("m", {.user = "alice", .tenant = "acme"}).allowed);
  EXPECT_FALSE(Take("m", {.user = "alice", .api_key = "sk-acme"}).allowed);
  EXPECT_TRUE(Take("m", {.user = "alice", .tenant = "corp"}).allowed);
  EXPECT_TRUE(Take("m", {.user = "alice", .api_key = "sk-1"}).allowed);
  EXPECT_TRUE(Take("m", {.user = "alice", .api_key = "sk-2"}).allowed);
  EXPECT_EQ(Take("m", {.user = "alice", .api_key = "sk-3"}).tiers.at(0).key, "total:tenant:guests:user:alice");
}

TEST_F(QuotaNames, AnApiKeyIsRefusedForAnotherTenantThanItsOwn) {
  Use(R"(
quota:
  tiers:
    tenants:
      acme: {m: [{requests: 1, per: 1h, total: true}], o1: {deny: true}}
    api_keys:
      sk-acme: {tenant: acme}
      sk-free: {m: [{requests: 9, per: 1h}]}
)");
  EXPECT_TRUE(Take("m", {.tenant = "acme", .api_key = "sk-acme"}).allowed) << "its own";
  EXPECT_EQ(Take("m", {.api_key = "sk-acme"}).tier, Tier::kTotal);
  EXPECT_TRUE(Denies("o1", {.api_key = "sk-acme"}));
  for (const char* model : {"m", "n", "o1"}) {
    const Decision decision = Take(model, {.user = "alice", .tenant = "other", .api_key = "sk-acme"});
    EXPECT_EQ(decision.code, QuotaCode::kDenied) << model;
    EXPECT_EQ(decision.reason, std::string(model) +
                                   ": denied to this API key for another tenant than its own by the configuration; "
                                   "trying again is of no use");
    EXPECT_FALSE(decision.retry_after);
  }
  EXPECT_TRUE(Take("m", {.tenant = "other", .api_key = "sk-free"}).allowed) << "a key without a tenant may name any";
  EXPECT_TRUE(Take("m", {.tenant = "other", .api_key = "sk-unknown"}).allowed);

  const Decision recorded = limiter_->RecordUsage("m", 1, 1, {.tenant = "other", .api_key = "sk-acme"});
  EXPECT_TRUE(recorded.allowed) << "what was used was used";
  EXPECT_EQ(limiter_->Explain({.model = "m", .requester = {.tenant = "acme"}}).tiers.at(0).used, 2);
}

TEST_F(QuotaNames, RulesThatNoRequestCanMeetAreErrorsWithALine) {
  const std::string models =
      "quota:\n  models: {gpt-4o: {max_rpm: 5, also: [\"gpt-4o-2*\", chatgpt]}, \"o3*\": {max_rpm: 5}}\n";
  const auto tiers = [&](const std::string& text) { return models + "  tiers:\n    " + text; };
  const std::string counted =
      ": the model gpt-4o-2024-05-13 is counted as gpt-4o, so no request would meet this; name "
      "gpt-4o";
  const std::string pattern =
      ": the pattern gpt-3* does not stand under models, so no request would meet this; name a model, or add the "
      "pattern there";
  const std::string star = ": found a * in the name, expected a whole name: only models have patterns";
  struct Case {
    std::string yaml;
    std::string error;
  };
  const Case cases[] = {
      {tiers("tenants: {acme: {gpt-4o-2024-05-13: [{requests: 1, per: 1}]}}"),
       "w.yaml:4:41: quota.tiers.tenants.acme.gpt-4o-2024-05-13" + counted},
      {tiers("api_keys: {sk-SECRET: {gpt-4o-2024-05-13: [{requests: 1, per: 1}]}}"),
       "w.yaml:4:47: quota.tiers.api_keys.….gpt-4o-2024-05-13" + counted},
      {tiers("classes: [{name: old, models: [gpt-4o-2024-05-13]}]"),
       "w.yaml:4:36: quota.tiers.classes[0].models[0]" + counted},
      {models + "  prices: {gpt-4o-2024-05-13: {input: 1, output: 1}}",
       "w.yaml:3:31: quota.prices.gpt-4o-2024-05-13" + counted},
      {tiers("tenants: {acme: {chatgpt: [{requests: 1, per: 1}]}}"), "the model chatgpt is counted as gpt-4o"},
      {tiers("tenants: {acme: {o3-2025: [{requests: 1, per: 1}]}}"), "the model o3-2025 is counted as o3*"},
      {tiers("tenants: {acme: {\"gpt-3*\": [{requests: 1, per: 1}]}}"),
       "w.yaml:4:32: quota.tiers.tenants.acme.gpt-3*" + pattern},
      {tiers("classes: [{name: old, models: [\"gpt-3*\"]}]"),
       "w.yaml:4:36: quota.tiers.classes[0].models[0]" + pattern},
      {models + "  prices: {\"gpt-3*\": {input: 1, output: 1}}", "w.yaml:3:22: quota.prices.gpt-3*" + pattern},
      {tiers("tenants: {\"team-*\": {m: [{requests: 1, per: 1}]}}"),
       "w.yaml:4:25: quota.tiers.tenants.team-*: tenant" + star},
      {tiers("api_keys: {\"sk-*\": {m: [{requests: 1, per: 1}]}}"),
       "w.yaml:4:24: quota.tiers.api_keys.…: API key" + star},
      {tiers("api_keys: {sk-1: {tenant: \"*\"}}"), "w.yaml:4:31: quota.tiers.api_keys.….tenant: tenant" + star},
      {tiers("users: {\"team-*\": [{requests: 1, per: 1}]}"), "w.yaml:4:23: quota.tiers.users.team-*: user" + star},
      {tiers("tenants: {acme: {users: {\"team-*\": [{requests: 1, per: 1}]}}}"),
       "w.yaml:4:40: quota.tiers.tenants.acme.users.team-*: user" + star},
      {tiers("qos: [{name: \"*\", priority: 1}]"), "w.yaml:4:11: quota.tiers.qos[0]: QoS class" + star},
      {tiers("tenants: {acme: {\"a*b*\": {deny: true}}}"),
       "w.yaml:4:30: quota.tiers.tenants.acme.a*b*: a*b*: found more than one *, expected one at most"},
      {"quota:\n  models:\n    a: {max_rpm: 1, also: [b]}\n    b: {max_rpm: 1, also: [a]}",
       "w.yaml:3:28: quota.models.a.also[0]: b: has limits of its own under models, so it is never counted as a; "
       "expected one of the two\nw.yaml:4:28: quota.models.b.also[0]: a: has limits of its own"},
      {"quota:\n  models:\n    a: {also: [b]}\n    b: {deny: true, also: [c]}",
       "w.yaml:4:28: quota.models.b.also[0]: c: b is itself counted as a; expected it there"},
      {"quota:\n  models: {a: {also: [a]}}",
       "w.yaml:2:23: quota.models.a.also[0]: a: stands for itself without being named here"},
  };
  for (const Case& c : cases) {
    QuotaConfig config;
    const std::string error = Read(c.yaml, &config).message();
    EXPECT_NE(error.find(c.error), std::string::npos) << c.yaml << "\n" << error << "\nexpected " << c.error;
    EXPECT_EQ(error.find("SECRET"), std::string::npos) << error;
  }
}

TEST(CheckQuotaConfig, RefusesNamesThatNoRequestCanMeet) {
  QuotaConfig good{.quotas = {{"a", {.max_rpm = 1}}}};
  for (const char* name : {"b", "a-2*"}) ASSERT_TRUE(AddAlias(name, "a", &good).ok());
  ASSERT_EQ(CheckQuotaConfig(good).message(), "");
  const Limits limits = {{.amount = 1, .per = std::chrono::hours(1)}};
  const std::vector<void (*)(QuotaConfig&, const std::string&, const Limits&)> places = {
      [](QuotaConfig& c, const std::string& model, const Limits&) { c.prices[model] = {}; },
      [](QuotaConfig& c, const std::string& model, const Limits& l) { c.tiers.tenants["acme"][model] = l; },
      [](QuotaConfig& c, const std::string& model, const Limits& l) { c.tiers.api_keys["sk"][model] = l; },
      [](QuotaConfig& c, const std::string& model, const Limits& l) {
        c.tiers.model_classes = {{.name = "x", .models = {model}, .limits = {.model = l}}};
      }};
  for (size_t i = 0; i < places.size(); ++i) {
    for (const char* name : {"a", "unclaimed", "b", "a-2026", "z*"}) {
      QuotaConfig config = good;
      places[i](config, name, limits);
      const bool counted = std::string_view(name) == "a" || std::string_view(name) == "unclaimed";
      EXPECT_EQ(CheckQuotaConfig(config).ok(), counted) << i << " " << name;
    }
  }
  const std::vector<void (*)(TierRulesConfig&, const std::string&, const Limits&)> parties = {
      [](TierRulesConfig& c, const std::string& name, const Limits& l) { c.tenants[name]["m"] = l; },
      [](TierRulesConfig& c, const std::string& name, const Limits& l) { c.api_keys[name]["m"] = l; },
      [](TierRulesConfig& c, const std::string& name, const Limits& l) { c.users[name] = l; },
      [](TierRulesConfig& c, const std::string& name, const Limits& l) { c.tenant_users["t"][name] = l; },
      [](TierRulesConfig& c, const std::string& name, const Limits& l) { c.tenant_users[name]["u"] = l; },
      [](TierRulesConfig& c, const std::string& name, const Limits&) { c.denied_tenants[name] = {"m"}; },
      [](TierRulesConfig& c, const std::string& name, const Limits&) { c.denied_api_keys[name] = {"m"}; },
      [](TierRulesConfig& c, const std::string& name, const Limits&) { c.api_key_tenants[name] = "acme"; }};
  for (size_t i = 0; i < parties.size(); ++i) {
    for (const char* name : {"team", "*", "team-*"}) {
      QuotaConfig config = good;
      parties[i](config.tiers, name, limits);
      EXPECT_EQ(CheckQuotaConfig(config).ok(), std::string_view(name) != "team-*") << i << " " << name;
    }
  }
  QuotaConfig both = good;
  both.quotas["b"] = {.max_rpm = 2};
  EXPECT_FALSE(CheckQuotaConfig(both).ok()) << "a claims it, and it has limits of its own";
}

TEST_F(QuotaNames, APatternUnderModelsAndAStarMayHaveLimitsAndAPrice) {
  Use(R"(
quota:
  models: {"o3*": {max_rpm: 100}}
  prices: {"o3*": {input: 1, output: 1}, "*": {input: 2, output: 2}}
  tiers:
    classes: [{name: thinks, models: ["o3*"], model: [{requests: 3, per: 1h}]}]
    tenants: {acme: {"o3*": [{requests: 1, per: 1h}], "*": [{requests: 2, per: 1h}]}}
)");
  EXPECT_TRUE(Take("o3-2025", {.tenant = "acme"}).allowed);
  EXPECT_EQ(Take("o3", {.tenant = "acme"}).tier, Tier::kUserModel);
  for (const char* model : {"o3-a", "o3-b"}) EXPECT_TRUE(Take(model).allowed) << model;
  EXPECT_EQ(Take("o3-c").tier, Tier::kModel);
  EXPECT_EQ(limiter_->Decide({.model = "o3-c", .tokens = 1'000'000}).cost, kMoneyUnit);
}

}  // namespace
}  // namespace weir
