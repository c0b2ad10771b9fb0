#include "throttle/limits/quota/tier_rules.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <set>

namespace weir {
namespace {

using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

Limits Hourly(int64_t amount) { return {{.amount = amount, .per = 1h}}; }

TierRulesConfig Example() {
  return {
      .default_limits = {.user_model = Hourly(100), .model = Hourly(10'000), .instance = Hourly(5)},
      .model_classes = {{.name = "large", .models = {"gpt-4o"}, .limits = {.user_model = Hourly(20)}},
                        {.name = "small", .models = {"embed"}, .limits = {.model = Hourly(99), .instance = Hourly(9)}}},
      .tenants = {{"acme", {{"gpt-4o", Hourly(500)}, {"*", Hourly(50)}}}, {"one", {{"embed", Hourly(7)}}}},
      .api_keys = {{"sk-1", {{"gpt-4o", Hourly(1)}}}, {"sk-2", {{"*", Hourly(2)}}}},
  };
}

// Returns the plan as "user_model user:alice 100, …", with | at the place where the model's own quota is checked.
std::string PlanOf(const TierRulesConfig& config, std::string_view model, const Requester& requester) {
  const TierRules rules(config);
  TierPlan plan;
  const Status status = rules.MakePlan(model, requester, &plan);
  if (!status.ok()) return status.message();
  std::string text;
  for (size_t i = 0; i < plan.charges().size(); ++i) {
    if (i == plan.before_model()) text += "| ";
    text += std::string(NameOf(plan.tier_of(i))) + " " + std::string(plan.charges()[i].key) + " " +
            std::to_string(plan.charges()[i].limit.amount) + ", ";
  }
  if (plan.before_model() == plan.charges().size()) text += "|";
  return text;
}

TEST(TierRules, TheLimitsComeFromTheFirstThatHasAny) {
  struct Case {
    std::string_view model;
    Requester requester;
    std::string_view plan;
  };
  const Case cases[] = {
      {"x", {}, "model model 10000, |"},
      {"x", {.user = "u"}, "user_model user:u 100, model model 10000, |"},
      {"x", {.user = "u", .instance = "i"}, "user_model user:u 100, model model 10000, | instance instance:i 5, "},
      {"gpt-4o", {.user = "u"}, "user_model user:u 20, model model 10000, |"},
      {"embed", {.user = "u", .instance = "i"}, "user_model user:u 100, model model 99, | instance instance:i 9, "},
      {"gpt-4o", {.user = "u", .tenant = "acme"}, "user_model tenant:acme:user:u 500, model model 10000, |"},
      {"x", {.user = "u", .tenant = "acme"}, "user_model tenant:acme:user:u 50, model model 10000, |"},
      {"x", {.tenant = "acme"}, "user_model tenant:acme 50, model model 10000, |"},
      {"gpt-4o", {.tenant = "one"}, "user_model tenant:one 20, model model 10000, |"},
      {"gpt-4o", {.tenant = "nobody"}, "user_model tenant:nobody 20, model model 10000, |"},
      {"gpt-4o", {.tenant = "acme", .api_key = "sk-1"}, "user_model key:sk-1 1, model model 10000, |"},
      {"x", {.tenant = "acme", .api_key = "sk-1"}, "user_model key:sk-1 50, model model 10000, |"},
      {"gpt-4o",
       {.user = "u", .tenant = "acme", .api_key = "sk-2"},
       "user_model tenant:acme:user:u 2, model model 10000, |"},
      {"x", {.qos = "free"}, "qos qos:free:nobody 10, model model 10000, |"},
      {"x", {.user = "u", .qos = "free"}, "user_model user:u 100, qos qos:free:user:u 10, model model 10000, |"},
  };
  for (const Case& c : cases) EXPECT_EQ(PlanOf(Example(), c.model, c.requester), c.plan);
  EXPECT_EQ(PlanOf({}, "x", {.user = "u", .tenant = "t", .api_key = "k", .instance = "i"}), "|");
}

TEST(TierRules, AUsersTotalIsItsTenantsOrThatOfAllUsers) {
  const TierRulesConfig config{.users = {{"*", Hourly(10)}, {"alice", Hourly(90)}},
                               .tenant_users = {{"acme", {{"*", Hourly(5)}, {"bob", Hourly(7)}}}}};
  struct Case {
    Requester requester;
    std::string_view plan;
  };
  for (const Case& c : {
           Case{{.user = "x"}, "total total:user:x 10, |"},
           Case{{.user = "alice"}, "total total:user:alice 90, |"},
           Case{{.user = "alice", .tenant = "other"}, "total total:tenant:other:user:alice 10, |"},
           Case{{.user = "alice", .tenant = "acme"}, "total total:tenant:acme:user:alice 5, |"},
           Case{{.user = "bob", .tenant = "acme"}, "total total:tenant:acme:user:bob 7, |"},
           Case{{.user = "bob", .api_key = "sk"}, "total total:user:bob 10, |"},
           Case{{.tenant = "acme"}, "|"},
           Case{{.api_key = "sk"}, "|"},
       })
    EXPECT_EQ(PlanOf(config, "m", c.requester), c.plan);
  EXPECT_FALSE(TierRules(config).empty());
  EXPECT_EQ(TierPlan::TotalOf("total:user:x"), "user");
  EXPECT_EQ(TierPlan::TotalOf("total:tenant:user:user:bob"), "user");
  EXPECT_EQ(TierPlan::TotalOf("total:tenant:user"), "tenant");
  EXPECT_EQ(TierPlan::TotalOf("total:key:sk"), "key");
}

TEST(TierRules, QosClassesHaveAPriority) {
  const TierRules rules;
  const std::pair<std::string_view, int64_t> cases[] = {{"premium", 1}, {"standard", 2}, {"free", 3}};
  for (const auto& [qos, priority] : cases) {
    TierPlan plan;
    ASSERT_TRUE(rules.MakePlan("m", {.user = "u", .qos = qos}, &plan).ok());
    EXPECT_EQ(plan.priority(), priority);
    ASSERT_EQ(plan.charges().size(), 1U);
    EXPECT_EQ(plan.tier_of(0), Tier::kQos);
  }
  TierPlan plan;
  EXPECT_EQ(rules.MakePlan("m", {.user = "u", .qos = "fre\xc3\xa9"}, &plan).message(),
            "QoS class \"fre\xc3\xa9\": there is no such class, there are premium, standard, free");
  EXPECT_EQ(TierRules(TierRulesConfig{.qos_classes = {}}).MakePlan("m", {.qos = "free"}, &plan).message(),
            "QoS class \"free\": there is no such class, there are none");
  EXPECT_FALSE(plan.priority());
}

TEST(TierRules, EmptyMeansThatOnlyQosIsMet) {
  EXPECT_TRUE(TierRules().empty());
  EXPECT_TRUE(TierRules({.model_classes = {{.name = "a", .models = {"m"}, .limits = {}}}}).empty());
  EXPECT_FALSE(TierRules({.default_limits = {.model = Hourly(1)}}).empty());
  EXPECT_FALSE(
      TierRules({.model_classes = {{.name = "a", .models = {"m"}, .limits = {.instance = Hourly(1)}}}}).empty());
  EXPECT_FALSE(TierRules({.tenants = {{"t", {{"*", Hourly(1)}}}}}).empty());
  EXPECT_FALSE(TierRules({.api_keys = {{"k", {{"*", Hourly(1)}}}}}).empty());
}

TEST(TierRules, AModelWithoutAClassIsOther) {
  const TierRules rules(Example());
  EXPECT_EQ(rules.ClassOf("gpt-4o"), "large");
  EXPECT_EQ(rules.ClassOf("embed"), "small");
  EXPECT_EQ(rules.ClassOf("x"), "other");
  EXPECT_EQ(TierRules().ClassOf("x"), "other");
}

TEST(TierRules, TheLongestNamesOfAllKindsHaveRoom) {
  const std::string name(kMaxNameBytes, ':');
  TierRulesConfig config = Example();
  config.qos_classes = {{.name = name, .priority = 7, .limits = Hourly(1)}};
  const Limit total{.amount = 1, .per = 1h, .total = true};
  config.tenants[name] = config.api_keys[name] = {{"*", {total}}, {name, {total}}};
  config.users = {{"*", Hourly(1)}};
  const TierRules rules(config);
  TierPlan plan;
  ASSERT_TRUE(rules.MakePlan(name, {name, name, name, name, name}, &plan).ok());
  ASSERT_EQ(plan.charges().size(), 9U);
  const std::string escaped = EscapeName(name);
  EXPECT_EQ(plan.charges()[4].key, "total:tenant:" + escaped + ":user:" + escaped);
  EXPECT_EQ(plan.charges()[6].key, "qos:" + escaped + ":tenant:" + escaped + ":user:" + escaped);
  EXPECT_EQ(plan.charges()[8].key, "instance:" + escaped);
  const Requester too_long[] = {{.user = "x"}, {.tenant = "x"}, {.api_key = "x"}, {.instance = "x"}, {.qos = "x"}};
  for (Requester r : too_long) {
    const std::string longer(kMaxNameBytes + 1, 'x');
    for (std::string_view* field : {&r.user, &r.tenant, &r.api_key, &r.instance, &r.qos})
      if (!field->empty()) *field = longer;
    TierPlan none;
    EXPECT_FALSE(rules.MakePlan("m", r, &none).ok());
    EXPECT_TRUE(none.charges().empty());
  }
}

// Names of few characters, including all that keys are made of.
rc::Gen<std::string> SomeName() {
  return rc::gen::container<std::string>(rc::gen::element('a', 'b', ':', '%', '@', '{', '}', '3', 'A'));
}

RC_GTEST_PROP(TierRules, TwoPartiesNeverShareAKey, ()) {
  TierRulesConfig config = Example();
  const TierRules rules(config);
  std::map<std::string, std::string> party_of;  // by key
  const auto parties = *rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::container<std::vector<std::string>>(4, SomeName()));
  for (const auto& p : parties) {
    TierPlan plan;
    RC_ASSERT(
        rules.MakePlan("m", {.user = p[0], .tenant = p[1], .api_key = p[2], .instance = p[3], .qos = "free"}, &plan)
            .ok());
    // The party, with a separator byte that no name contains.
    const std::string who = p[0].empty() && !p[2].empty() ? "k\x01" + p[2] : "u\x01" + p[1] + "\x01" + p[0];
    for (size_t i = 0; i < plan.charges().size(); ++i) {
      const Tier tier = plan.tier_of(i);
      const std::string meant = std::string(NameOf(tier)) + "\x01" +
                                (tier == Tier::kModel      ? ""
                                 : tier == Tier::kInstance ? p[3]
                                                           : who);
      const auto [at, is_new] = party_of.emplace(plan.charges()[i].key, meant);
      RC_ASSERT(is_new || at->second == meant);
    }
  }
  std::set<std::string> meanings;
  for (const auto& [key, meaning] : party_of) RC_ASSERT(meanings.insert(meaning).second);
}

TEST(CheckLimit, RefusesValuesOutOfRange) {
  const Limit good{.amount = 100, .per = 1h};
  EXPECT_TRUE(CheckLimit(good).ok());
  const auto with = [&](auto change) {
    Limit limit = good;
    change(limit);
    return CheckLimit(limit).ok();
  };
  EXPECT_TRUE(with([](Limit& l) { l.amount = kMostAmount; }));
  EXPECT_TRUE(with([](Limit& l) { l.per = 1s; }));
  EXPECT_FALSE(with([](Limit& l) { l.unit = Limit::Unit::kCalls; })) << "under way for an hour alone";
  EXPECT_TRUE(with([](Limit& l) { l.unit = Limit::Unit::kCalls, l.per = kCallCounts; }));
  EXPECT_TRUE(with([](Limit& l) { l.per = 366 * kDay; }));
  EXPECT_FALSE(with([](Limit& l) { l.amount = 0; }));
  EXPECT_FALSE(with([](Limit& l) { l.amount = -1; }));
  EXPECT_FALSE(with([](Limit& l) { l.amount = kMostAmount + 1; }));
  EXPECT_FALSE(with([](Limit& l) { l.per = 999ms; }));
  EXPECT_FALSE(with([](Limit& l) { l.per = 366 * kDay + 1ms; }));
  EXPECT_FALSE(with([](Limit& l) { l.per = 1s + 1us; }));
  EXPECT_FALSE(with([](Limit& l) { l.kind = Limit::Kind::kBucket; }));
  EXPECT_FALSE(with([](Limit& l) { l.kind = Limit::Kind::kBucket, l.burst = 99; }));
  EXPECT_TRUE(with([](Limit& l) { l.kind = Limit::Kind::kBucket, l.burst = 100; }));
  EXPECT_FALSE(with([](Limit& l) { l.kind = Limit::Kind::kBucket, l.burst = kMostAmount + 1; }));
}

TEST(CheckTierRules, NamesTheMistakeAndItsPlace) {
  EXPECT_TRUE(CheckTierRules({}).ok());
  EXPECT_TRUE(CheckTierRules(Example()).ok());
  struct Case {
    void (*change)(TierRulesConfig&);
    std::string_view error;
  };
  const Case cases[] = {
      {[](TierRulesConfig& c) { c.default_limits.model[0].amount = 0; }, "default, model: 0 requests in 1 h"},
      {[](TierRulesConfig& c) { c.default_limits.model = Limits(5, c.default_limits.model[0]); },
       "5 limits, expected 4"},
      {[](TierRulesConfig& c) {
         c.default_limits.instance = {Hourly(5)[0], Hourly(6)[0]};
       },
       "default, instance: 5 requests in 1 h and 6 requests in 1 h: two limits of the same kind and time"},
      {[](TierRulesConfig& c) { c.model_classes[0].name = ""; }, "model class"},
      {[](TierRulesConfig& c) { c.model_classes[0].name = "other"; }, "the class of models that have none"},
      {[](TierRulesConfig& c) { c.model_classes[1].name = "large"; }, "a second model class large"},
      {[](TierRulesConfig& c) { c.model_classes[1].models = {"gpt-4o"}; }, "gpt-4o is in the class large already"},
      {[](TierRulesConfig& c) {
         c.model_classes[1].models = {"a", "a"};
       },
       "the model a twice in the class small"},
      {[](TierRulesConfig& c) { c.model_classes[1].models = {"\x01"}; }, "model"},
      {[](TierRulesConfig& c) { c.model_classes[0].limits.user_model[0].per = 0s; }, "model class large, user_model"},
      {[](TierRulesConfig& c) { c.qos_classes[1].name = "premium"; }, "a second QoS class premium"},
      {[](TierRulesConfig& c) { c.qos_classes[1].priority = 0; }, "QoS class standard: the priority is 0"},
      {[](TierRulesConfig& c) { c.qos_classes[1].limits[0].amount = -1; }, "QoS class standard: "},
      {[](TierRulesConfig& c) { c.tenants[""] = {}; }, "tenant"},
      {[](TierRulesConfig& c) { c.tenants["acme"]["*"][0].amount = 0; }, "tenant acme, model *: "},
      {[](TierRulesConfig& c) { c.api_keys["sk-1"][""] = {}; }, "model"},
      {[](TierRulesConfig& c) { c.api_keys["sk-1"]["*"] = Hourly(0); }, "API key …, model *: "},
      {[](TierRulesConfig& c) { c.api_keys["sk-SECRET"]["*"] = Hourly(0); }, "API key sk-S…, model *: "},
      {[](TierRulesConfig& c) {
         c.model_classes.clear();
         for (char name = 'a'; name <= 'q'; ++name)
           c.model_classes.push_back({.name = {name}, .models = {}, .limits = {}});
       },
       "more than 16 model classes"},
      {[](TierRulesConfig& c) {
         c.qos_classes.clear();
         for (char name = 'a'; name <= 'q'; ++name) c.qos_classes.push_back({.name = {name}, .limits = {}});
       },
       "more than 16 QoS classes"},
  };
  for (const Case& c : cases) {
    TierRulesConfig config = Example();
    c.change(config);
    const Status status = CheckTierRules(config);
    EXPECT_FALSE(status.ok()) << c.error;
    EXPECT_NE(status.message().find(c.error), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace weir
