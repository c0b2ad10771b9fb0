// relay/limiters/openapi.json says what the API does, no more and no less.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "relay/limiters/envoy/envoy_api.h"
#include "relay/limiters/keyed/keyed_api.h"
#include "relay/limiters/quota/quota_call_reader.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/relay/limiters/quota/openapi_document.h"
#include "tests/relay/limiters/quota/quota_api_fixture.h"
#include "tests/relay/limiters/quota/quota_routes.h"

namespace weir {
namespace {

using Call = QuotaRoute::Call;
using Element = OpenApiDocument::Element;
using Object = OpenApiDocument::Object;

const QuotaRoute& RouteOf(Call call) {
  return *std::ranges::find_if(QuotaApi::Routes(), [call](const QuotaRoute& route) { return route.call == call; });
}

TEST(OpenApi, HasTheRoutesOfTheLimiters) {
  const OpenApiDocument document;
  std::set<std::string> documented;
  for (const auto& [path, operations] : Object(document.root()["paths"])) {
    for (const auto& [method, unused] : Object(operations)) {
      std::string upper(method);
      std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
      if (method != "parameters") documented.insert(upper + " " + std::string(path));
    }
  }
  std::set<std::string> routes;
  for (const QuotaRoute& route : QuotaApi::Routes())
    routes.insert(std::string(route.method) + " " + std::string(route.path));
  for (const KeyedRoute& route : KeyedApi::Routes())
    routes.insert(std::string(route.method) + " " + std::string(route.path));
  for (const EnvoyRoute& route : EnvoyApi::Routes())
    routes.insert(std::string(route.method) + " " + std::string(route.path));
  // The routes of endpoints, whose paths the operator names.
  routes.insert({"GET /{endpoint}", "POST /{endpoint}", "GET /debug/endpoints"});
  EXPECT_EQ(documented, routes);
  EXPECT_EQ(routes.size(), QuotaApi::Routes().size() + KeyedApi::Routes().size() + EnvoyApi::Routes().size() + 3);
}

TEST(OpenApi, SaysWhichRoutesAreForAdministrators) {
  const OpenApiDocument document;
  for (const QuotaRoute& route : QuotaApi::Routes()) {
    const Element operation = document.Operation(route.method, route.path);
    EXPECT_EQ(operation["security"].error() == simdjson::SUCCESS, route.for_admins) << route.path;
    EXPECT_TRUE(document.Statuses(route).contains(401)) << "with WEIR_QUOTA_API=admins all are";
  }
}

TEST(OpenApi, ItsRequestsAreTakenByTheApi) {
  const OpenApiDocument document;
  size_t examples = 0;
  for (const QuotaRoute& route : QuotaApi::Routes()) {
    Element content;
    const Element operation = document.Operation(route.method, route.path);
    if (operation["requestBody"]["content"]["application/json"].get(content) != simdjson::SUCCESS) continue;
    for (const auto& [name, example] : Object(content["examples"])) {
      ApiWorld world({.providers = {Provider::kOpenAi}});
      const std::string body = simdjson::minify(Element(example["value"]));
      const HttpResponse response = world.Ask(route.call, body, "gpt-4o");
      // The reservation of an example does not exist.
      const bool settles = route.call == Call::kCommit || route.call == Call::kRefund || route.call == Call::kExtend;
      EXPECT_EQ(response.status, settles ? 404 : 200) << route.path << " " << body << "\n" << response.body;
      EXPECT_EQ(document.Violation(Element(content["schema"]), Element(example["value"]), "the example"), "");
      ++examples;
    }
  }
  EXPECT_GE(examples, 12U);
}

TEST(OpenApi, ItsAnswersAreAsItsSchemasSay) {
  const OpenApiDocument document;
  size_t examples = 0;
  for (const QuotaRoute& route : QuotaApi::Routes()) {
    for (const auto& [status, response] : Object(document.Operation(route.method, route.path)["responses"])) {
      Element content;
      Element example;
      if (document.Resolved(response)["content"]["application/json"].get(content) != simdjson::SUCCESS) continue;
      if (content["example"].get(example) != simdjson::SUCCESS) continue;
      EXPECT_EQ(document.Violation(Element(content["schema"]), example, "the example"), "") << route.path << status;
      ++examples;
    }
  }
  EXPECT_GE(examples, 30U);
}

// Calls of every kind, in every condition that changes an answer; each answer is checked against the document.
class OpenApiAnswers : public ::testing::Test {
 protected:
  void See(Call call, const HttpResponse& response) {
    const QuotaRoute& route = RouteOf(call);
    EXPECT_EQ(document_.Violation(route, response), "") << route.method << " " << route.path << ": " << response.body;
    for (const auto& [name, unused] : response.headers)
      EXPECT_TRUE(name == "RateLimit" || name == "RateLimit-Policy" || name == "Retry-After") << name;
    seen_[call].insert(response.status);
  }
  // Makes all calls, with a body that is good, one that is broken, one that is too long, and a bad name.
  void SeeAll(QuotaApi& api, const std::string& model) {
    for (const QuotaRoute& route : QuotaApi::Routes()) {
      for (const std::string& body : {Good(route.call, model), std::string("{"), std::string(kMaxCallBytes + 1, ' ')})
        See(route.call, Ask(api, route.call, body, model));
      See(route.call, Ask(api, route.call, Good(route.call, "\\n"), "\n"));
    }
  }
  // Sees the refusals before the API: for pages of other sites, clients that are no administrators, and calls whose
  // turn does not come.
  void SeeRefusals() {
    for (const int status : {401, 403}) {
      QuotaRoutes gate({.api = ServedQuotaApi::kAdmins});
      gate.refusal = HttpResponse{.status = status, .body = "for administrators only\nshow the token\n"};
      for (const QuotaRoute& route : QuotaApi::Routes()) See(route.call, gate.Ask(route, Good(route.call, "m")));
    }
    const TempDirectory directory;
    QuotaRoutes gate({.store = {.store = "sqlite:" + (directory / "quota.db")}, .api = ServedQuotaApi::kAll});
    for (const QuotaRoute& route : QuotaApi::Routes()) {
      See(route.call, gate.Ask(route, Good(route.call, "m"), {{"sec-fetch-site", "cross-site"}}));
      See(route.call, gate.AskAndHangUp(route, Good(route.call, "m")));
    }
  }
  static std::string Good(Call call, const std::string& model) {
    std::string asks = R"({"model":")" + model + R"(","tokens":60,"user":"alice"})";
    switch (call) {
      case Call::kCommit:
        return R"({"reservation":"none","tokens":60})";
      case Call::kRefund:
      case Call::kExtend:
        return R"({"reservation":"none"})";
      case Call::kSetQuota:
        return R"({"max_rpm":0,"max_tpm":0,"max_rpd":7})";
      default:
        return asks;
    }
  }

  std::string Reserve(ApiWorld& world) {
    const HttpResponse reserved = world.Ask(Call::kReserve, Good(Call::kReserve, "m"));
    See(Call::kReserve, reserved);
    simdjson::dom::parser parser;
    const Element decision = parser.parse(reserved.body);
    return std::string(decision["reservation"].get_c_str());
  }

  const OpenApiDocument document_;
  std::map<Call, std::set<int>> seen_;
};

TEST_F(OpenApiAnswers, AreTheDocumentedOnesAndEachIsGiven) {
  QuotaConfig config{.quotas = {{"m", {.max_rpm = 2, .max_tpm = 100, .max_rpd = 5}}}};
  config.tiers.default_limits.user_model = {{.amount = 9, .per = std::chrono::hours(1)},
                                            {.unit = Limit::Unit::kTokens,
                                             .kind = Limit::Kind::kBucket,
                                             .amount = 100,
                                             .per = std::chrono::hours(1),
                                             .burst = 1000},
                                            {.kind = Limit::Kind::kCalendarMonth, .amount = 1000}};
  config.prices = {{"m", {.input = 2'500'000, .output = 10'000'000}}};
  config.tiers.users = {{"*",
                         {{.unit = Limit::Unit::kMoney, .amount = 5 * kMoneyUnit, .per = std::chrono::hours(1)},
                          {.unit = Limit::Unit::kCalls, .amount = 9, .per = kCallCounts}}}};
  ApiWorld world(config);
  for (const Call end : {Call::kCommit, Call::kRefund}) {
    const std::string id = R"({"reservation":")" + Reserve(world);
    const std::string commit = id + R"(","tokens":1})";
    See(Call::kExtend, world.Ask(Call::kExtend, id + R"("})"));
    if (end == Call::kCommit) See(end, world.Ask(end, id + R"(","tokens":0,"partial":true})"));
    See(end, world.Ask(end, end == Call::kCommit ? commit : id + R"("})"));
    See(Call::kExtend, world.Ask(Call::kExtend, id + R"("})"));
    See(Call::kCommit, world.Ask(Call::kCommit, id + R"(","tokens":2})"));
    if (end == Call::kCommit) See(Call::kRefund, world.Ask(Call::kRefund, id + R"("})"));
  }
  world.Ask(Call::kDecide, R"({"model":"m","tokens":60,"charge":true})");
  for (const Call call : {Call::kDecide, Call::kReserve, Call::kRecord}) {
    for (const char* tokens : {"1", "1", "2"}) {
      const std::string more = call == Call::kDecide ? R"(,"charge":true)" : "";
      See(call, world.Ask(call, R"({"model":"keyed","idempotency_key":"k","tokens":)" + (tokens + more) + "}"));
    }
  }
  See(Call::kDecide, world.Ask(Call::kDecide, R"({"model":"m","tokens":101})"));
  for (const char* model : {"m", "unlimited", "another"}) SeeAll(world.api, model);
  world.Ask(Call::kSetQuota, R"({"max_rpm":0,"max_tpm":0,"max_rpd":0})", "unlimited");
  See(Call::kDecide, world.Ask(Call::kDecide, Good(Call::kDecide, "unlimited")));
  See(Call::kModel, world.Ask(Call::kModel, "", "never heard of"));
  for (const char* query : {"limit=1", "limit=0"})
    world.api.Answer({Call::kModels, {.query = query}}, [this](HttpResponse page) { See(Call::kModels, page); });

  QuotaConfig strict = config;
  strict.unknown_models = UnknownModels::kRefuse;
  ApiWorld strict_world(strict, {.max_models = 1});
  strict_world.Ask(Call::kRecord, Good(Call::kRecord, "m"));
  SeeAll(strict_world.api, "another");

  ApiWorld full_world(config, {.max_models = 1});
  full_world.Ask(Call::kRecord, Good(Call::kRecord, "the first"));
  See(Call::kRecord, full_world.Ask(Call::kRecord, Good(Call::kRecord, "another")));

  ScriptedStore away;
  away.GoAway();
  QuotaLimiter limiter(away, config);
  QuotaApi api(limiter, RateLimitDialect::kIetf);
  SeeAll(api, "m");

  SeeRefusals();
  for (const QuotaRoute& route : QuotaApi::Routes())
    EXPECT_EQ(document_.Statuses(route), seen_[route.call]) << route.method << " " << route.path;
}

}  // namespace
}  // namespace weir
