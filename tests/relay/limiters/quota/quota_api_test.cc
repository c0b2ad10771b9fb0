// The calls of the API: what they do to the store, and what they answer.
#include "relay/limiters/quota/quota_api.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "relay/limiters/quota/quota_table.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/limiters/quota/quota_api_fixture.h"

namespace weir {
namespace {

using Call = QuotaRoute::Call;
using namespace std::chrono_literals;

constexpr const char* kAsk = R"({"model":"gpt-4o","tokens":900})";

TEST(QuotaApi, DecideChargesOnlyWhereItIsToldTo) {
  ApiWorld world({.providers = {Provider::kOpenAi}});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Whole(world.Ask(Call::kDecide, kAsk), "/usage/rpm"), 0);
  const HttpResponse charged = world.Ask(Call::kDecide, R"({"model":"gpt-4o","tokens":900,"charge":true})");
  EXPECT_EQ(charged.status, 200);
  EXPECT_EQ(charged.content_type, "application/json");
  EXPECT_EQ(charged.body,
            R"({"allowed":true,"code":"ok","model":"gpt-4o","tokens":900,)"
            R"("quota":{"max_rpm":500,"max_tpm":30000,"max_rpd":0},)"
            R"("usage":{"rpm":1,"tpm":900,"rpd":1,"day_start":"2026-02-20T14:32:00Z","open_reservations":0}})"
            "\n");
  EXPECT_EQ(HeaderOf(charged, "RateLimit-Policy"), "\"rpm\";q=500;w=60, \"tpm\";q=30000;w=60;qu=\"tokens\"");
  EXPECT_EQ(HeaderOf(charged, "RateLimit"), "\"rpm\";r=499;t=60, \"tpm\";r=29100;t=60");
}

TEST(QuotaApi, ARefusalSaysWhenItWouldFit) {
  ApiWorld world({.providers = {Provider::kOpenAi}});
  world.Ask(Call::kRecord, R"({"model":"gpt-4o","prompt_tokens":20000,"output_tokens":9500})");
  world.clock.Advance(48s + 1ns);
  const HttpResponse refused = world.Ask(Call::kDecide, kAsk);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(Text(refused, "/code"), "tpm_exceeded");
  EXPECT_EQ(HeaderOf(refused, "Retry-After"), "12");
  EXPECT_EQ(HeaderOf(refused, "RateLimit"), "\"rpm\";r=499, \"tpm\";r=500;t=12");
  world.clock.Advance(12s);
  EXPECT_EQ(world.Ask(Call::kDecide, kAsk).status, 200);
}

TEST(QuotaApi, OnlyAReserveIsRefusedByALimitOfCallsUnderWay) {
  QuotaConfig config{.quotas = {{"m", {.max_tpm = 10}}}};
  config.tiers.default_limits.user_model = {{.unit = Limit::Unit::kCalls, .amount = 1, .per = kCallCounts}};
  ApiWorld world(config);
  const char* ask = R"({"model":"m","tokens":10,"user":"alice"})";
  ASSERT_EQ(world.Ask(Call::kReserve, ask).status, 200) << "both limits are now full";
  for (const Call call : {Call::kDecide, Call::kExplain, Call::kReserve}) {
    const HttpResponse refused = world.Ask(call, ask);
    EXPECT_TRUE(Has(refused.body, R"("allowed":false)")) << refused.body;
    const std::string limits = HeaderOf(refused, "RateLimit");
    EXPECT_TRUE(Has(limits, "\"tpm\";r=0;t=60")) << limits;
    EXPECT_EQ(Has(limits, "-calls\";r=0;t="), call == Call::kReserve) << limits;
    EXPECT_TRUE(Has(limits, "-calls\";r=0")) << limits;
  }
}

TEST(QuotaApi, RefusesACallThatCanNeverFitWithoutRetryAfter) {
  const struct {
    const char* name;
    QuotaConfig config;
    const char* body;
    const char* reason;
  } cases[] = {
      {"the quota of a profile",
       {.providers = {Provider::kOpenAi}},
       R"({"model":"gpt-4o","tokens":30001})",
       "30001 tokens at once can never be allowed"},
      {"a quota of one's own",
       {.quotas = {{"m", {.max_tpm = 5}}}},
       R"({"model":"m","tokens":6})",
       "6 tokens at once can never be allowed"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    ApiWorld world(c.config);
    const HttpResponse refused = world.Ask(Call::kReserve, c.body);
    EXPECT_EQ(refused.status, 413);
    EXPECT_EQ(Text(refused, "/code"), "too_large");
    EXPECT_EQ(HeaderOf(refused, "Retry-After"), "");
    EXPECT_TRUE(Has(refused.body, c.reason)) << refused.body;
  }
}

TEST(QuotaApi, RecordCountsWhatIsOverTheLimits) {
  ApiWorld world({.providers = {Provider::kOpenAi}});
  const HttpResponse recorded = world.Ask(Call::kRecord, R"({"model":"gpt-4o","tokens":50000})");
  EXPECT_EQ(recorded.status, 200) << recorded.body;
  EXPECT_EQ(Whole(recorded, "/usage/tpm"), 50000);
}

TEST(QuotaApi, AnswersShowTheTiersOfTheCallerToo) {
  QuotaConfig config{.quotas = {{"m", {.max_rpm = 500}}}};
  config.tiers.default_limits.user_model = {{.amount = 100, .per = 1h}};
  ApiWorld world(config);
  const HttpResponse reserved = world.Ask(Call::kReserve, R"({"model":"m","api_key":"sk-abc123","qos":"free"})");
  EXPECT_EQ(Text(reserved, "/tiers/0/key"), "key:***");
  EXPECT_EQ(Whole(reserved, "/tiers/0/used"), 1);
  EXPECT_EQ(Whole(reserved, "/priority"), 3);
  EXPECT_EQ(HeaderOf(reserved, "RateLimit"),
            "\"user_model-requests-3600\";r=99;t=3600, \"qos-requests-3600\";r=9;t=3600, \"rpm\";r=499;t=60");
}

TEST(QuotaApi, ExplainIsAlways200AndHasTheTiers) {
  QuotaConfig config{.quotas = {{"m", {.max_rpm = 1}}}};
  config.tiers.default_limits.user_model = {{.amount = 100, .per = 1h}};
  ApiWorld world(config);
  const char* ask = R"({"model":"m","user":"alice"})";
  const HttpResponse first = world.Ask(Call::kExplain, ask);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(Text(first, "/tiers/0/key"), "user:alice");
  EXPECT_EQ(Whole(first, "/tiers/0/remaining"), 100);
  EXPECT_EQ(HeaderOf(first, "RateLimit-Policy"), "\"user_model-requests-3600\";q=100;w=3600, \"rpm\";q=1;w=60");
  world.Ask(Call::kRecord, R"({"model":"m","tokens":0,"user":"alice"})");
  const HttpResponse refused = world.Ask(Call::kExplain, ask);
  EXPECT_EQ(refused.status, 200);
  EXPECT_EQ(Text(refused, "/code"), "rpm_exceeded");
  EXPECT_EQ(HeaderOf(refused, "Retry-After"), "");
}

TEST(QuotaApi, ExplainSaysWhatATotalHasUsed) {
  const Limit of_day{.unit = Limit::Unit::kTokens, .amount = 1000, .per = 24h, .total = true};
  ApiWorld world({.tiers = {.tenants = {{"acme", {{"*", {of_day}}}}}}});
  for (const std::string model : {"one", "another"})
    world.Ask(Call::kRecord, R"({"model":")" + model + R"(","tokens":300,"user":"alice","tenant":"acme"})");
  const HttpResponse explained = world.Ask(Call::kExplain, R"({"model":"third","tenant":"acme"})");
  EXPECT_EQ(Text(explained, "/tiers/0/key"), "total:tenant:acme") << explained.body;
  EXPECT_EQ(Whole(explained, "/tiers/0/used"), 600);
  EXPECT_EQ(Whole(explained, "/tiers/0/remaining"), 400);
}

TEST(QuotaApi, UnderShadowARefusalIsAllowedAndSaysSo) {
  ApiWorld world({.quotas = {{"m", {.max_rpm = 1}}}, .shadow = true});
  EXPECT_FALSE(Has(world.Ask(Call::kReserve, R"({"model":"m"})").body, "shadowed"));
  const HttpResponse second = world.Ask(Call::kReserve, R"({"model":"m"})");
  EXPECT_EQ(second.status, 200);
  EXPECT_TRUE(Has(second.body, R"({"allowed":true,"code":"rpm_exceeded")")) << second.body;
  EXPECT_TRUE(Has(second.body, R"("shadowed":true)")) << second.body;
}

TEST(QuotaApi, StatusesOfWhatAStoreAnswers) {
  struct {
    QuotaCode code;
    int decide;
    int record;
  } const cases[] = {
      {QuotaCode::kOk, 200, 200},
      {QuotaCode::kUnlimited, 200, 200},
      {QuotaCode::kUnknownModel, 403, 200},
      {QuotaCode::kRpdExceeded, 429, 200},
      {QuotaCode::kRpmExceeded, 429, 200},
      {QuotaCode::kTpmExceeded, 429, 200},
      {QuotaCode::kTooLarge, 413, 200},
      {QuotaCode::kTooManyNames, 429, 429},
      {QuotaCode::kStoreUnavailable, 503, 503},
  };
  for (const auto& [code, decide, record] : cases) {
    ScriptedStore store;
    store.charge_answer.code = code;
    store.charge_answer.charged = record == 200;
    QuotaLimiter limiter(store, {.unknown_models = UnknownModels::kRefuse});
    QuotaApi api(limiter, RateLimitDialect::kIetf);
    const HttpResponse decided = Ask(api, Call::kDecide, kAsk);
    EXPECT_EQ(decided.status, decide) << decided.body;
    EXPECT_EQ(Text(decided, "/code"), NameOf(code));
    EXPECT_EQ(Ask(api, Call::kRecord, kAsk).status, record) << NameOf(code);
  }
}

TEST(QuotaApi, WithAStoreThatIsAwayThePolicyDecides) {
  ScriptedStore store;
  store.GoAway();
  const struct {
    const char* name;
    WhenStoreAway policy;
    int status;
    const char* retry_after;
    const char* error_of_health;
  } cases[] = {{"refuse", WhenStoreAway::kRefuse, 503, "1", "store_unavailable"},
               {"allow", WhenStoreAway::kAllow, 200, "", "nothing"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    QuotaLimiter limiter(store, {.when_store_away = c.policy});
    QuotaApi api(limiter, RateLimitDialect::kIetf);
    const HttpResponse decided = Ask(api, Call::kReserve, kAsk);
    EXPECT_EQ(decided.status, c.status);
    EXPECT_EQ(Text(decided, "/code"), "store_unavailable");
    EXPECT_EQ(HeaderOf(decided, "Retry-After"), c.retry_after);
    const HttpResponse health = Ask(api, Call::kHealth, "");
    EXPECT_EQ(health.status, c.status);
    EXPECT_EQ(Text(health, "/breaker"), "open");
    EXPECT_EQ(Text(health, "/error/code"), c.error_of_health);
    for (const Call call : {Call::kModels, Call::kModel, Call::kUnsetQuota, Call::kReset, Call::kResetAll}) {
      const HttpResponse response = Ask(api, call, "", "m");
      EXPECT_EQ(response.status, 503) << response.body;
      EXPECT_EQ(Text(response, "/error/code"), "store_unavailable");
      EXPECT_EQ(HeaderOf(response, "Retry-After"), "1");
    }
    const HttpResponse commit = Ask(api, Call::kCommit, R"({"reservation":"r@m","tokens":1})");
    EXPECT_EQ(commit.status, 503);
    EXPECT_EQ(Text(commit, "/error/code"), "store_unavailable");
  }
}

// The store's words have paths and addresses in them, and names of keys, which may contain API keys.
TEST(QuotaApi, StrangersHearOnlyThatTheStoreIsInTrouble) {
  ScriptedStore store;
  store.GoAway();
  QuotaLimiter limiter(store);
  QuotaApi api(limiter, RateLimitDialect::kIetf);
  const std::string settles = R"({"reservation":"r@m","tokens":1})";
  const std::pair<Call, std::string> calls[] = {{Call::kDecide, kAsk}, {Call::kReserve, kAsk},   {Call::kExplain, kAsk},
                                                {Call::kRecord, kAsk}, {Call::kCommit, settles}, {Call::kModels, ""},
                                                {Call::kModel, ""},    {Call::kReset, ""},       {Call::kHealth, ""}};
  for (const auto& [call, body] : calls) {
    const std::string told = Ask(api, call, body, "m").body;
    EXPECT_TRUE(Has(told, "the store of the quotas does not answer")) << told;
    EXPECT_FALSE(Has(told, "connection refused")) << told;
    const std::string to_operator = Ask(api, call, body, "m", QuotaAudience::kOperator).body;
    EXPECT_TRUE(Has(to_operator, "connection refused")) << to_operator;
  }
}

TEST(QuotaApi, EachErrorHasTheFormOfAllErrors) {
  ApiWorld world({.quotas = {{"m", {.max_rpm = 1}}}});
  const std::string ask = R"({"model":"m","tokens":1})";
  EXPECT_EQ(Text(world.Ask(Call::kReserve, ask), "/error/code"), "nothing");
  const HttpResponse refused = world.Ask(Call::kReserve, ask);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(Text(refused, "/error/code"), Text(refused, "/code"));
  EXPECT_EQ(Text(refused, "/error/message"), Text(refused, "/reason"));
  const HttpResponse explained = world.Ask(Call::kExplain, ask);
  EXPECT_EQ(explained.status, 200);
  EXPECT_EQ(Text(explained, "/error/code"), "nothing") << "an explanation is no error";
}

TEST(QuotaApi, InvalidNamesAndClassesAre400) {
  ApiWorld world;
  const struct {
    const char* name;
    std::string body;
  } cases[] = {
      {"a long name", R"({"model":")" + std::string(10'000, 'x') + R"("})"},
      {"a name of two lines", R"({"model":"a\nb"})"},
      {"a user with a control character", R"({"model":"m","user":"\u007f"})"},
      {"a class that there is not", R"({"model":"m","user":"u","qos":"gold"})"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const HttpResponse response = world.Ask(Call::kDecide, c.body);
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_EQ(Text(response, "/error/code"), "invalid_name") << response.body;
    EXPECT_LT(response.body.size(), 400U);
  }
  const std::string quota = R"({"max_rpm":1,"max_tpm":1,"max_rpd":1})";
  for (const Call call : {Call::kModel, Call::kSetQuota, Call::kUnsetQuota, Call::kReset})
    EXPECT_EQ(world.Ask(call, quota, "not UTF-8: \xff").status, 400) << static_cast<int>(call);
}

TEST(QuotaApi, ANullNameCountsAsAbsentAndAnEmptyOneIsRefused) {
  ApiWorld world({.quotas = {{"m", {.max_rpm = 5}}}});
  const HttpResponse absent = world.Ask(Call::kDecide, R"({"model":"m","user":null,"qos":null})");
  EXPECT_EQ(absent.status, 200) << absent.body;
  const HttpResponse empty = world.Ask(Call::kDecide, R"({"model":"m","user":""})");
  EXPECT_EQ(empty.status, 400);
  EXPECT_TRUE(Has(empty.body, "where there is none, null or no key")) << empty.body;
}

TEST(QuotaApi, ModelsAreSortedAndHaveQuotaAndUsage) {
  ApiWorld world({.providers = {Provider::kLocal}, .quotas = {{"b", {.max_rpm = 3}}, {"a/1 \"x\"", {.max_tpm = 4}}}});
  world.Ask(Call::kRecord, R"({"model":"c","tokens":5})");
  EXPECT_EQ(world.Ask(Call::kModels, "").body,
            R"({"models":[{"model":"a/1 \"x\"","quota":{"max_rpm":0,"max_tpm":4,"max_rpd":0},)"
            R"("usage":{"rpm":0,"tpm":0,"rpd":0,"open_reservations":0}},)"
            R"({"model":"b","quota":{"max_rpm":3,"max_tpm":0,"max_rpd":0},)"
            R"("usage":{"rpm":0,"tpm":0,"rpd":0,"open_reservations":0}},)"
            R"({"model":"c","usage":{"rpm":1,"tpm":5,"rpd":1,"day_start":"2026-02-20T14:32:00Z",)"
            R"("open_reservations":0}}]})"
            "\n");
  EXPECT_EQ(world.Figure("a/1 \"x\"", "/quota/max_tpm"), 4);
  const HttpResponse unknown = world.Ask(Call::kModel, "", "d");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(Text(unknown, "/error/code"), "unknown_model");
}

TEST(QuotaApi, ModelsComeInPages) {
  std::map<std::string, ModelQuota, std::less<>> quotas;
  for (int n = 0; n < 2500; ++n) quotas["m" + std::to_string(10'000 + n)] = {.max_rpm = n + 1};
  ApiWorld world({.quotas = quotas});
  const auto ask = [&world](const std::string& query) {
    HttpResponse given;
    world.api.Answer({Call::kModels, {.method = "GET", .path = "/v1/models", .query = query}},
                     [&given](HttpResponse response) { given = std::move(response); });
    return given;
  };
  std::vector<std::string> names;
  std::string query;
  for (const size_t many : {1000, 1000, 500}) {
    const Result<AllModelStats> page = ReadModelsPage(ask(query).body);
    ASSERT_TRUE(page.ok());
    ASSERT_EQ(page.value().models.size(), many);
    for (const ModelStats& model : page.value().models) names.push_back(model.model);
    query = "after=" + page.value().next;
  }
  EXPECT_EQ(query, "after=") << "there are no more";
  EXPECT_EQ(names.size(), quotas.size());
  EXPECT_TRUE(std::ranges::equal(names, quotas, {}, {}, [](const auto& quota) { return quota.first; }));
  const Result<AllModelStats> two = ReadModelsPage(ask("limit=2&after=m10004").body);
  ASSERT_EQ(two.value().models.size(), 2U);
  EXPECT_EQ(two.value().models[0].model, "m10005");
  EXPECT_EQ(two.value().next, "m10006");
  for (const char* wrong : {"limit=0", "limit=1001", "limit=x", "page=2", "after=%zz"})
    EXPECT_EQ(ask(wrong).status, 400) << wrong;
}

TEST(QuotaApi, AQuotaIsStatedWhole) {
  ApiWorld world({.providers = {Provider::kOpenAi}});
  EXPECT_EQ(world.Ask(Call::kSetQuota, R"({"max_tpm":60000})", "gpt-4o").status, 400);
  EXPECT_EQ(world.Figure("gpt-4o", "/quota/max_tpm"), 30000);
  const HttpResponse set = world.Ask(Call::kSetQuota, R"({"max_rpm":500,"max_tpm":60000,"max_rpd":0})", "gpt-4o");
  EXPECT_EQ(set.status, 200) << set.body;
  const HttpResponse model = world.Ask(Call::kModel, "", "gpt-4o");
  EXPECT_EQ(model.body, set.body);
  EXPECT_EQ(Whole(model, "/quota/max_rpm"), 500);
  EXPECT_EQ(Whole(model, "/quota/max_tpm"), 60000);
  world.Ask(Call::kSetQuota, R"({"max_rpm":1,"max_tpm":0,"max_rpd":0})", "new");
  EXPECT_EQ(world.Figure("new", "/quota/max_rpm"), 1);
  EXPECT_EQ(world.Figure("new", "/quota/max_tpm"), 0);
}

TEST(QuotaApi, UnsetGoesBackToTheConfigurationOrTheProfile) {
  ApiWorld world({.providers = {Provider::kOpenAi}, .quotas = {{"mine", {.max_rpm = 8}}}});
  for (const auto& [model, rpm] : {std::pair{"gpt-4o", 500}, std::pair{"mine", 8}}) {
    ASSERT_EQ(world.Ask(Call::kSetQuota, R"({"max_rpm":1,"max_tpm":0,"max_rpd":0})", model).status, 200);
    ASSERT_EQ(world.Figure(model, "/quota/max_rpm"), 1);
    const HttpResponse unset = world.Ask(Call::kUnsetQuota, "", model);
    EXPECT_EQ(unset.status, 200) << unset.body;
    EXPECT_EQ(Whole(unset, "/quota/max_rpm"), rpm);
  }
  EXPECT_EQ(world.Ask(Call::kUnsetQuota, "", "never heard of").status, 200);
}

TEST(QuotaApi, ResetForgetsWhatWasUsed) {
  ApiWorld world({.providers = {Provider::kOpenAi}});
  for (const char* model : {"gpt-4o", "o1"})
    world.Ask(Call::kRecord, std::string(R"({"model":")") + model + R"(","tokens":5})");
  const HttpResponse reset = world.Ask(Call::kReset, "", "gpt-4o");
  EXPECT_EQ(reset.status, 204);
  EXPECT_EQ(reset.body, "");
  EXPECT_EQ(world.Figure("gpt-4o", "/usage/rpm"), 0);
  EXPECT_EQ(world.Figure("o1", "/usage/rpm"), 1);
  EXPECT_EQ(world.Ask(Call::kResetAll, "").status, 204);
  EXPECT_EQ(world.Figure("o1", "/usage/rpm"), 0);
}

TEST(QuotaApi, SpeaksTheDialectItIsGiven) {
  const struct {
    RateLimitDialect dialect;
    const char* field;
    const char* value;
  } cases[] = {
      {RateLimitDialect::kIetf, "RateLimit", "\"rpm\";r=499;t=60, \"tpm\";r=29100;t=60"},
      {RateLimitDialect::kOpenAi, "x-ratelimit-remaining-tokens", "29100"},
      {RateLimitDialect::kAnthropic, "anthropic-ratelimit-tokens-reset", "2026-02-20T14:33:00Z"},
  };
  for (const auto& [dialect, field, value] : cases) {
    ApiWorld world({.providers = {Provider::kOpenAi}}, {}, dialect);
    EXPECT_EQ(HeaderOf(world.Ask(Call::kReserve, kAsk), field), value) << field;
  }
}

TEST(QuotaApi, AnAsynchronousStoreIsNotWaitedFor) {
  ScriptedStore store;
  store.pace_now = QuotaStore::Pace::kAsynchronous;
  QuotaLimiter limiter(store);
  std::vector<HttpResponse> answers;
  HttpRequest request;
  {
    QuotaApi api(limiter, RateLimitDialect::kIetf);
    const auto done = [&answers](HttpResponse response) { answers.push_back(std::move(response)); };
    request.body = R"({"model":"m","tokens":7,"charge":true})";
    api.Answer({Call::kDecide, request}, done);
    request.body = R"({"reservation":"r@m","tokens":5})";
    api.Answer({Call::kCommit, request}, done);
    request.body = "what the store was asked is not asked again";
  }
  EXPECT_TRUE(answers.empty());
  EXPECT_EQ(store.last_settled, 5);
  for (const auto& answer : store.waiting) answer();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(Text(answers[0], "/model"), "m");
  EXPECT_EQ(Whole(answers[0], "/tokens"), 7);
  EXPECT_EQ(answers[1].status, 200);
}

TEST(QuotaApi, SaysWhichCallsMayWait) {
  ScriptedStore store;
  QuotaLimiter limiter(store);
  const QuotaApi api(limiter, RateLimitDialect::kIetf);
  std::string waiting;
  for (const auto pace : {QuotaStore::Pace::kAtOnce, QuotaStore::Pace::kBlocks, QuotaStore::Pace::kAsynchronous}) {
    store.pace_now = pace;
    for (const QuotaRoute& route : QuotaApi::Routes()) waiting += api.MayWait(route.call) ? 'w' : '-';
    waiting += ' ';
  }
  EXPECT_EQ(waiting,
            "-------w----w-- "
            "wwwwwwwwwwwww-- "
            "-------wwwwww-- ");
}

// Takes any bytes, and good bodies with bytes changed: there is an answer, with good JSON in it.
void ExpectAnswer(ApiWorld& world, Call call, const std::string& body) {
  const HttpResponse response = world.Ask(call, body);
  RC_LOG() << body << "\n" << response.status << " " << response.body << "\n";
  const bool settles = call == Call::kCommit || call == Call::kRefund || call == Call::kExtend;
  RC_ASSERT(response.status == 200 || response.status == 400 || response.status == (settles ? 404 : 429));
  RC_ASSERT(IsJson(response));
}

constexpr Call kWithBody[] = {Call::kDecide, Call::kReserve, Call::kRecord, Call::kExplain,
                              Call::kCommit, Call::kRefund,  Call::kExtend};

RC_GTEST_PROP(QuotaApi, AnswersWhateverTheBytes, (const std::string& body)) {
  ApiWorld world({.providers = {Provider::kOpenAi}});
  for (const Call call : kWithBody) ExpectAnswer(world, call, body);
}

RC_GTEST_PROP(QuotaApi, AnswersWhateverIsChangedInABody, ()) {
  ApiWorld world({.providers = {Provider::kOpenAi}});
  const std::string user = *rc::gen::nonEmpty(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("aé\\\"n:@{}%u00e9\xf0\x9f\x98\x80"))));
  std::string body = R"({"model":"gpt-4o","tokens":900,"user":")" + user + R"(","qos":"free"})";
  for (int changes = *rc::gen::inRange(0, 3); changes > 0; --changes) {
    const auto at = *rc::gen::inRange<size_t>(0, body.size());
    body.replace(
        at, *rc::gen::inRange<size_t>(0, 3),
        *rc::gen::elementOf(std::vector<std::string>{"", "\"", "{", "}", ",", "-", "9", "\\", "\\ud83d", "\xc3"}));
  }
  for (const Call call : kWithBody) ExpectAnswer(world, call, body);
}

// Names of all lengths, with characters of all sizes, cut where a message shortens them.
RC_GTEST_PROP(QuotaApi, NeverCutsACharacterInTwo, ()) {
  ApiWorld world({.unknown_models = UnknownModels::kRefuse});
  std::string model;
  for (int i = *rc::gen::inRange(1, 70); i > 0; --i)
    model += *rc::gen::elementOf(std::vector<std::string>{"a", "é", "€", "😀"});
  const HttpResponse response = world.Ask(Call::kDecide, R"({"model":")" + model + R"("})");
  RC_ASSERT(IsJson(response));
}

}  // namespace
}  // namespace weir
