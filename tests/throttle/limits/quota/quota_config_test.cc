#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "throttle/limits/quota/quota_config_reader.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr auto kBucket = Limit::Kind::kBucket;
constexpr auto kTokens = Limit::Unit::kTokens;

Status ReadText(std::string_view text, QuotaConfig* config) {
  return ReadYaml(text, "w.yaml", [&](YamlMap& root) {
    if (const YamlValue section = root.Optional("quota")) ReadQuotaSection(section, config);
  });
}

std::string ErrorOf(std::string_view text) {
  QuotaConfig config;
  return ReadText(text, &config).message();
}

// Returns the example in the header, from "//   quota:" to the first line that is no YAML.
std::string ExampleOfTheHeader() {
  std::ifstream header(std::string(WEIR_SOURCE_DIR) + "/throttle/limits/quota/quota_config_reader.h");
  std::string example;
  for (std::string line; std::getline(header, line);) {
    if (line.starts_with("//   ")) example += line.substr(5) + "\n";
    if (!example.empty() && !line.starts_with("//   ")) break;
  }
  return example;
}

TEST(QuotaConfigReader, TheExampleOfTheHeaderIsReadAsItSays) {
  const std::string example = ExampleOfTheHeader();
  ASSERT_TRUE(example.starts_with("quota:\n")) << example;
  QuotaConfig config;
  ASSERT_EQ(ReadText(example, &config).message(), "");
  EXPECT_TRUE(CheckQuotaConfig(config).ok());
  const Limits hundred = {{.amount = 100, .per = 1h}};
  const Limits fifty = {{.amount = 50, .per = 1h}};
  QuotaConfig expected;
  expected.providers = {Provider::kOpenAi, Provider::kAnthropic};
  expected.quotas = {{"gpt-4o", {.max_rpm = 500, .max_tpm = 30'000, .max_rpd = 0}},
                     {"gpt-4-turbo", {.max_rpm = 500}},
                     {"o3*", {.max_rpm = 100}}};
  expected.aliases = {{"gpt-4-turbo-2*", "gpt-4-turbo"}, {"gpt-4-1106-preview", "gpt-4-turbo"}, {"o3*", "o3*"}};
  expected.denied_models = {"o1-pro"};
  expected.tiers.default_limits = {
      .user_model = {{.amount = 100, .per = 1h}, {.unit = kTokens, .amount = 50'000, .per = 1h}},
      .model = {{.amount = 10'000, .per = 1h}},
      .instance = {{.amount = 5, .per = 1min}},
  };
  expected.tiers.model_classes = {{.name = "large", .models = {"gpt-4o", "o1"}, .limits = {.user_model = hundred}}};
  expected.tiers.qos_classes = {{.name = "premium", .priority = 1, .limits = {{.amount = 500, .per = 1h}}}};
  const Limit million{.unit = kTokens, .amount = 1'000'000, .per = 24h, .total = true};
  expected.tiers.tenants = {{"acme", {{"gpt-4o", {{.amount = 500, .per = 1h}}}, {"*", fifty}}},
                            {"corp", {{"*", {million}}}}};
  const auto daily = [](int64_t tokens) { return Limits{{.unit = kTokens, .amount = tokens, .per = 24h}}; };
  expected.tiers.tenants["labs"] = {};
  expected.tiers.tenants["*"] = {{"*", {{.amount = 9, .per = 1h, .total = true}}}};
  expected.tiers.tenant_users = {{"labs", {{"*", daily(50'000)}, {"bob", daily(9'000)}}}};
  const Limit calendar{.unit = kTokens, .kind = Limit::Kind::kCalendarDay, .amount = 100'000};
  const Limit spending{.unit = Limit::Unit::kMoney, .kind = Limit::Kind::kCalendarMonth, .amount = 5 * kMoneyUnit};
  const Limit calls{.unit = Limit::Unit::kCalls, .amount = 2, .per = kCallCounts};
  expected.tiers.users = {{"*", {calendar, spending, calls}}, {"alice", daily(900'000)}};
  expected.prices = {{"gpt-4o", {.input = 2'500'000, .output = 10'000'000}}};
  expected.tiers.time_zone = "Europe/Berlin";
  expected.tiers.denied_tenants = {{"corp", {"o1"}}};
  expected.tiers.api_keys = {
      {"sk-abc123", {{"gpt-4o", {{.amount = 50, .per = 1h, .total = true}}}}}, {"sk-stolen", {}}, {"*", {}}};
  expected.tiers.denied_api_keys = {{"sk-stolen", {"*"}}, {"*", {"o1*"}}};
  expected.tiers.api_key_tenants = {{"sk-abc123", "acme"}};
  EXPECT_EQ(config, expected);
}

TEST(QuotaConfigReader, KeepsTheValuesOfAbsentKeys) {
  QuotaConfig config{.providers = {Provider::kGemini}, .quotas = {{"a", {.max_rpm = 1}}, {"b", {.max_rpm = 2}}}};
  const QuotaConfig before = config;
  EXPECT_TRUE(ReadText("", &config).ok());
  EXPECT_TRUE(ReadText("quota:\n", &config).ok());
  EXPECT_TRUE(ReadText("quota: {models: , tiers: }\n", &config).ok());
  EXPECT_EQ(config, before);
  EXPECT_TRUE(ReadText("quota: {models: {b: {max_tpm: 9}}, shadow: on, unknown_models: refuse, when_store_away: allow,"
                       " reservation_ttl: 0.5e3}\n",
                       &config)
                  .ok());
  EXPECT_EQ(config.quotas.at("a"), ModelQuota{.max_rpm = 1});
  EXPECT_EQ(config.quotas.at("b"), ModelQuota{.max_tpm = 9});
  EXPECT_TRUE(config.shadow);
  EXPECT_EQ(config.unknown_models, UnknownModels::kRefuse);
  EXPECT_EQ(config.when_store_away, WhenStoreAway::kAllow);
  EXPECT_EQ(config.reservation_ttl, Duration(500s));
}

TEST(QuotaConfigReader, ABurstMakesABucket) {
  QuotaConfig config;
  ASSERT_EQ(ReadText("quota: {tiers: {default: {model: [{tokens: 100, per: 0.25e1, burst: 200}]}}}", &config).message(),
            "");
  EXPECT_EQ(config.tiers.default_limits.model,
            (Limits{{.unit = kTokens, .kind = kBucket, .amount = 100, .per = 2500ms, .burst = 200}}));
}

TEST(QuotaConfigReader, LimitsCanBeNamedAndUsedAgain) {
  QuotaConfig config;
  ASSERT_EQ(
      ReadText("quota:\n  tiers:\n    default: {model: &l [{requests: 1, per: 1}], instance: *l}\n", &config).message(),
      "");
  EXPECT_EQ(config.tiers.default_limits.model, config.tiers.default_limits.instance);
}

// A configuration that is wrong, and a part of its error: the position, the finding and the expectation.
struct Wrong {
  std::string text;
  std::string error;
};

void ExpectErrors(const std::vector<Wrong>& cases) {
  for (const Wrong& c : cases) {
    const std::string error = ErrorOf(c.text);
    EXPECT_NE(error.find(c.error), std::string::npos) << c.text << "\n" << error << "\nexpected " << c.error;
    EXPECT_EQ(error.find("SECRET"), std::string::npos) << error;
  }
}

TEST(QuotaConfigReader, ErrorsOfModelsAndPricesNameTheirPosition) {
  const std::string long_name(257, 'x');
  ExpectErrors({
      {"quota: 5", "w.yaml:1:8: quota: found \"5\", expected a map"},
      {"quota:\n  shadw: true",
       "w.yaml:2:3: quota: found the key \"shadw\", expected one of providers, unknown_models, when_store_away, "
       "reservation_ttl, shadow, time_zone, models, prices, tiers; did you mean \"shadow\"?"},
      {"quota:\n  providers: [openai, opena]",
       "w.yaml:2:23: quota.providers[1]: found \"opena\", expected one of gemini, openai, anthropic, local"},
      {"quota:\n  unknown_models: maybe",
       "w.yaml:2:19: quota.unknown_models: found \"maybe\", expected one of allow, refuse"},
      {"quota:\n  reservation_ttl: 0",
       "w.yaml:2:20: quota.reservation_ttl: found \"0\", expected a number within 1..86400 (s)"},
      {"quota:\n  models: {m: {max_rpm: -1}}",
       "w.yaml:2:25: quota.models.m.max_rpm: found \"-1\", expected a whole number within 0..1e+15 "
       "(requests in "
       "a minute; 0: no limit)"},
      {"quota:\n  models: {m: {max_tpm: 1000000000000001}}", "w.yaml:2:25: quota.models.m.max_tpm: found"},
      {"quota:\n  models: {m: {max_rpd: 1.5}}", "w.yaml:2:25: quota.models.m.max_rpd: found \"1.5\""},
      {"quota:\n  models: {m: 5}", "w.yaml:2:15: quota.models.m: found \"5\", expected a map"},
      {"quota:\n  models: {\"a\\nb\": {}}", "w.yaml:2:20: quota.models.a\\x0ab: model: has a control character"},
      {"quota:\n  models:\n    ? " + long_name + "\n    : {}", "model: has 257 bytes"},
      {"quota:\n  prices: {m: {input: 1}}", "w.yaml:2:15: quota.prices.m: found no key \"output\", expected one"},
      {"quota:\n  prices: {m: {input: -1, output: 0}}", "w.yaml:2:23: quota.prices.m.input: found \"-1\", expected"},
      {"quota: [", "w.yaml:"},
  });
}

TEST(QuotaConfigReader, ErrorsOfLimitsNameTheirPosition) {
  const auto limit = [](std::string_view text) {
    return "quota:\n  tiers:\n    default:\n      model: [" + std::string(text) + "]\n";
  };
  const std::string at_limit = "w.yaml:4:15: quota.tiers.default.model[0]";
  ExpectErrors({
      {limit("{requests: 0, per: 1}"),
       "w.yaml:4:26: quota.tiers.default.model[0].requests: found \"0\", expected a whole number within "
       "1..1e+15 (requests)"},
      {limit("{per: 1}"), at_limit + ": found none of requests, tokens, money, in_flight, expected one of them"},
      {limit("{requests: 1, tokens: 1, per: 1}"),
       at_limit + ": found two of requests, tokens, money, in_flight, expected one"},
      {limit("{requests: 1}"), at_limit + ": found no key \"per\", expected one"},
      {limit("{requests: 1, per: 0.5}"),
       "w.yaml:4:34: quota.tiers.default.model[0].per: found \"0.5\", expected a number within 1..31622400 (s)"},
      {limit("{requests: 1, per: 1.00001}"),
       "w.yaml:4:34: quota.tiers.default.model[0].per: found 1.00001, expected whole milliseconds"},
      {limit("{money: 0, per: 1}"),
       "w.yaml:4:23: quota.tiers.default.model[0].money: found \"0\", expected a number within 0.000001..1000000000 "
       "(of "
       "money)"},
      {limit("{money: 2.50, per: 1d, burst: 2}"),
       "w.yaml:4:45: quota.tiers.default.model[0].burst: found \"2\", expected a number within 2.5..1000000000 (of "
       "money)"},
      {limit("{in_flight: 2, per: 1d}"), "w.yaml:4:30: quota.tiers.default.model[0]: found the key \"per\""},
      {limit("{requests: 1, per: week}"),
       "w.yaml:4:34: quota.tiers.default.model[0].per: found week, expected a length (7d, 1h, 60s), or day or month"},
      {limit("{requests: 10, per: 1, burst: 9}"),
       "w.yaml:4:45: quota.tiers.default.model[0].burst: found \"9\", expected a whole number within "
       "10..1e+15 (at least the amount)"},
      {limit("{requests: 1, per: 1}, {requests: 2, per: 1}"),
       "w.yaml:4:14: quota.tiers.default.model: 1 request in 1 s and 2 requests in 1 s: two limits of the same kind "
       "and "
       "time, expected one"},
      {limit(
           "{requests: 1, per: 1}, {requests: 1, per: 2}, {requests: 1, per: 3}, {requests: 1, per: 4}, {requests: 1, "
           "per: 5}"),
       "w.yaml:4:14: quota.tiers.default.model: 5 limits, expected 4 at most"},
      {limit(""), "w.yaml:4:14: quota.tiers.default.model: found no limit, expected 1..4 limits"},
  });
  EXPECT_EQ(ErrorOf("quota:\n  tiers:\n    default:\n      model: {requests: 1, per: 1}\n"),
            "w.yaml:4:14: quota.tiers.default.model: found a map, expected a list");
}

TEST(QuotaConfigReader, ErrorsOfTiersNameTheirPositionButNoKey) {
  ExpectErrors({
      {"quota:\n  tiers:\n    classes:\n      - {name: a, models: [m]}\n      - {name: b, models: [m]}",
       "w.yaml:5:9: quota.tiers.classes[1]: the model m is in the class a already"},
      {"quota:\n  tiers:\n    classes:\n      - {name: other, models: [m]}",
       "w.yaml:4:9: quota.tiers.classes[0]: the model class \"other\": that is the class of models that have none"},
      {"quota:\n  tiers:\n    qos:\n      - {name: a, priority: 0}",
       "w.yaml:4:29: quota.tiers.qos[0].priority: found \"0\", expected a whole number within 1..1000 (1: first)"},
      {"quota:\n  tiers:\n    qos:\n      - {name: a, priority: 1}\n      - {name: a, priority: 2}",
       "w.yaml:5:9: quota.tiers.qos[1]: a second QoS class a"},
      {"quota:\n  tiers:\n    tenants: {acme: {m: 5}}",
       "w.yaml:3:25: quota.tiers.tenants.acme.m: found \"5\", expected a list"},
      {"quota:\n  tiers:\n    api_keys: {sk-SECRET: {m: 5}}",
       "w.yaml:3:31: quota.tiers.api_keys.….m: found \"5\", expected a list"},
      {"quota:\n  tiers:\n    api_keys: {sk-SECRET: {}, sk-SECRET: {}}",
       "w.yaml:3:31: quota.tiers.api_keys: found the key … again"},
  });
}

TEST(QuotaConfigReader, NoMoreThan16Classes) {
  const auto classes = [](int count) {
    std::string text = "quota:\n  tiers:\n    classes:\n";
    for (int i = 0; i < count; ++i)
      text += "      - {name: c" + std::to_string(i) + ", models: [m" + std::to_string(i) + "]}\n";
    return text;
  };
  EXPECT_EQ(ErrorOf(classes(16)), "");
  EXPECT_EQ(ErrorOf(classes(17)), "w.yaml:20:9: quota.tiers.classes[16]: more than 16 model classes");
}

TEST(QuotaConfigReader, TenThousandModels) {
  std::string text = "quota:\n  models:\n";
  for (int i = 0; i < 10'000; ++i)
    text += "    model-" + std::to_string(i) + ": {max_rpm: " + std::to_string(i) + "}\n";
  QuotaConfig config;
  ASSERT_EQ(ReadText(text, &config).message(), "");
  EXPECT_EQ(config.quotas.size(), 10'000U);
  EXPECT_EQ(config.quotas.at("model-77").max_rpm, 77);
}

class QuotaConfigFile : public testing::Test {
 protected:
  void SetUp() override { path_ = testing::TempDir() + "weir-quota-config-" + std::to_string(getpid()) + ".yaml"; }
  void TearDown() override { std::filesystem::remove(path_); }
  void Write(std::string_view text) { std::ofstream(path_) << text; }

  std::string path_;
};

TEST_F(QuotaConfigFile, LooksAtItsSectionAlone) {
  Write("tenants: {a: [1, 2]}\nquota: {shadow: true}\n");
  QuotaConfig config;
  EXPECT_NE(ReadQuotaConfig(path_, &config).message().find("found the key \"tenants\""), std::string::npos);
  EXPECT_FALSE(config.shadow) << "a file with an error is refused whole";
  EXPECT_EQ(ReadQuotaConfig(path_, &config, {"tenants", "absent"}).message(), "");
  EXPECT_TRUE(config.shadow);
}

TEST_F(QuotaConfigFile, RefusesTheWholeFileIfAnythingIsWrong) {
  Write("quota:\n  models: {good: {max_rpm: 1}, bad: {max_rpm: x}}\n");
  QuotaConfig config;
  const Status status = ReadQuotaConfig(path_, &config);
  EXPECT_TRUE(status.message().starts_with(path_ + ":2:")) << status.message();
  EXPECT_EQ(config, QuotaConfig());
  EXPECT_FALSE(ReadQuotaConfig(path_ + ".absent", &config).ok());
}

TEST(QuotaConfigReader, TimesMayHaveUnits) {
  for (const auto& [text, per] : std::vector<std::pair<std::string, Duration>>{
           {"3600", 1h}, {"90s", 90s}, {"5m", 5min}, {"5min", 5min}, {"1h", 1h}, {"7d", 168h}, {"1500ms", 1500ms}}) {
    QuotaConfig config;
    const Status read = ReadText("quota: {tiers: {default: {model: [{requests: 1, per: " + text + "}]}}}", &config);
    ASSERT_EQ(read.message(), "");
    EXPECT_EQ(config.tiers.default_limits.model, (Limits{{.amount = 1, .per = per}})) << text;
  }
  QuotaConfig config;
  EXPECT_FALSE(ReadText("quota: {tiers: {default: {model: [{requests: 1, per: 1y}]}}}", &config).ok());
  EXPECT_FALSE(ReadText("quota: {tiers: {default: {model: [{requests: 1, per: 0h}]}}}", &config).ok());
}

}  // namespace
}  // namespace weir
