// The bodies that the API takes, what it says of others, and what it writes.
#include "relay/limiters/quota/quota_json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <simdjson.h>

#include <string>
#include <vector>

#include "relay/limiters/quota/quota_call_reader.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/limiters/quota/openapi_document.h"

namespace weir {
namespace {

using Call = QuotaRoute::Call;

std::string ErrorOf(Call call, std::string_view text) {
  QuotaCallBody body;
  const std::optional<ApiError> error = ReadQuotaCall(call, text, &body);
  return error ? std::string(error->code) + " | " + error->message : "good";
}

TEST(QuotaCall, ReadsEveryKey) {
  QuotaCallBody body;
  const auto error = ReadQuotaCall(Call::kReserve, R"( {"model":"a/b \"\u00e9\"", "tokens" : 900,"user":"alice",
      "tenant":"acme","api_key":"sk","instance":"gpu","qos":"premium","ttl_seconds":86400} )",
                                   &body);
  ASSERT_FALSE(error) << error->message;
  EXPECT_EQ(body.model, "a/b \"é\"");
  EXPECT_EQ(body.tokens, 900);
  EXPECT_EQ(body.user, "alice");
  EXPECT_EQ(body.tenant, "acme");
  EXPECT_EQ(body.api_key, "sk");
  EXPECT_EQ(body.instance, "gpu");
  EXPECT_EQ(body.qos, "premium");
  EXPECT_EQ(body.ttl_seconds, 86400);
  EXPECT_EQ(body.charge, std::nullopt);
}

TEST(QuotaCall, TheCostIsTheTokensOrPromptAndOutputTogether) {
  EXPECT_EQ(QuotaCallBody{}.use().tokens, 0);
  EXPECT_EQ((QuotaCallBody{.tokens = 5}).use().tokens, 5);
  EXPECT_EQ((QuotaCallBody{.prompt_tokens = 5, .output_tokens = 7}).use().tokens, 12);
  EXPECT_EQ((QuotaCallBody{.output_tokens = 7}).use().tokens, 7);
  EXPECT_EQ((QuotaCallBody{.prompt_tokens = kMostAmount, .output_tokens = kMostAmount}).use().tokens, kMostAmount);
}

TEST(QuotaCall, SaysWhereItIsNoJsonObject) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "the body must be a JSON object, not the end of the text"},
      {"  \n", "the body must be a JSON object, not the end of the text"},
      {"[]", "the body must be a JSON object, not an array"},
      {"\"x\"", "the body must be a JSON object, not \"x\""},
      {"{\"model\"", "JSON must have : at byte 8, not the end of the text"},
      {"{\"model\":\"m\"", "JSON must have , or } at byte 12, not the end of the text"},
      {"{\"model\":\"m\",}", "the name of a field must be a string, not }"},
      {"{\"model\":\"m\"} {", "the body must end behind its object, not go on with an object"},
      {"{\"model\":\"m", "model: the string has no closing quote"},
      {"{\"model\":\"\\x\"}", "model: the string has an escape that JSON does not know, a backslash before \"x\""},
      {"{\"model\":\"\\u0000\"}", "model: the string has the character \\u0000, which is not allowed"},
      {"{\"model\":nul}", "model: JSON must have a value at byte 9, not nul"},
      {R"({"model":"m","tokens":05})", "tokens: JSON must have a value at byte 22, not 05"},
      {R"({"model":"m","tokens":[)", "tokens: JSON must have a value at byte 23, not the end of the text"},
      {R"({"model":"m","tokens":-})", "tokens: JSON must have a value at byte 22, not -"},
      {"{\"model\":\"\xff\"}", "the body must be UTF-8"},
  };
  for (const auto& [text, error] : cases)
    EXPECT_EQ(ErrorOf(Call::kDecide, text), std::string("invalid_request | ") + error) << text;
}

TEST(QuotaCall, SaysWhichValueIsWrong) {
  const struct {
    Call call;
    const char* text;
    const char* error;
  } cases[] = {
      {Call::kDecide, "{}", "model: missing, expected the model's name"},
      {Call::kDecide, R"({"model":""})", "model: found \"\", expected a string that is not empty"},
      {Call::kDecide, R"({"model":7})", "model: found 7, expected a string that is not empty"},
      {Call::kDecide, R"({"model":null})", "model: found null, expected a string that is not empty"},
      {Call::kDecide, R"({"model":{"a":1}})", "model: found an object, expected a string that is not empty"},
      {Call::kDecide, R"({"model":"m","model":"m"})", "model: found twice, expected once"},
      {Call::kDecide, R"({"model":"m","mod\u0065l":"m"})", "model: found twice, expected once"},
      {Call::kDecide, R"({"model":"m","charge":1})", "charge: found 1, expected true or false"},
      {Call::kDecide, R"({"model":"m","charge":"true"})", "charge: found \"true\", expected true or false"},
      {Call::kDecide, R"({"model":"m","tokns":1})", "tokns: there is no such key here; did you mean tokens?"},
      {Call::kExplain, R"({"model":"m","charge":true})",
       "charge: there is no such key here; there are model, user, tenant, api_key, instance, qos, tokens, "
       "prompt_tokens, output_tokens"},
      {Call::kReserve, R"({"model":"m","ttl_seconds":0})",
       "ttl_seconds: found 0, expected a whole number within 1..86400"},
      {Call::kReserve, R"({"model":"m","ttl_seconds":-1})",
       "ttl_seconds: found -1, expected a whole number within 1..86400"},
      {Call::kCommit, R"({"tokens":1})", "reservation: missing, expected what reserve answered"},
      {Call::kCommit, R"({"reservation":"r"})", "tokens: missing, expected tokens, or prompt_tokens and output_tokens"},
      {Call::kCommit, R"({"reservation":"r","tokens":1,"output_tokens":1})",
       "tokens: found with prompt_tokens or output_tokens, expected one or the other"},
      {Call::kRefund, R"({"reservation":"r","tokens":1})", "tokens: there is no such key here; there are reservation"},
      {Call::kRecord, R"({"model":"m"})", "tokens: missing, expected tokens, or prompt_tokens and output_tokens"},
      {Call::kSetQuota, "{}", "max_rpm: missing, expected max_rpm, max_tpm and max_rpd; say 0 for no limit"},
      {Call::kSetQuota, R"({"max_rpd":1,"max_rpm":1})",
       "max_tpm: missing, expected max_rpm, max_tpm and max_rpd; say 0 for no limit"},
      {Call::kSetQuota, R"({"max_rpm":-1})", "max_rpm: found -1, expected a whole number within 0..1000000000000000"},
  };
  for (const auto& [call, text, error] : cases)
    EXPECT_EQ(ErrorOf(call, text), std::string("invalid_request | ") + error) << text;
}

TEST(QuotaCall, TokensAreAWholeNumberAndNegativeOnesHaveACode) {
  const std::string range = ", expected a whole number within 0..1000000000000000";
  for (const std::string found :
       {"1.5", "1e30", "1000000000000001", "9223372036854775808", "99999999999999999999999", "\"5\""})
    EXPECT_EQ(ErrorOf(Call::kDecide, R"({"model":"m","tokens":)" + found + "}"),
              std::string("invalid_request | tokens: found ").append(found).append(range));
  EXPECT_EQ(ErrorOf(Call::kDecide, R"({"model":"m","tokens":-5})"), "invalid_tokens | tokens: found -5" + range);
  EXPECT_EQ(ErrorOf(Call::kRecord, R"({"model":"m","output_tokens":-9223372036854775809})"),
            "invalid_tokens | output_tokens: found -9223372036854775809" + range);
}

TEST(QuotaCall, RefusesLongOrDeepBodiesAtOnce) {
  const std::string deep(60'000, '[');
  EXPECT_EQ(ErrorOf(Call::kDecide, R"({"model":"m","tokens":)" + deep),
            "invalid_request | tokens: JSON must not be nested deeper than 32 levels");
  EXPECT_EQ(ErrorOf(Call::kDecide, std::string(kMaxCallBytes + 1, ' ')),
            "body_too_long | the body has 65537 bytes, expected at most 65536");
  const std::string found = ErrorOf(Call::kDecide, "{\"" + std::string(60'000, 'x') + "\":1}");
  EXPECT_LT(found.size(), 300U) << found;
}

// The document's schemas and the reader were written separately, and must take the same bodies.
RC_GTEST_PROP(QuotaCall, TakesWhatItsSchemaTakes, ()) {
  static const OpenApiDocument& document = *new OpenApiDocument();
  static const std::vector<QuotaRoute> routes = [] {
    std::vector<QuotaRoute> with_body;
    for (const QuotaRoute& route : QuotaApi::Routes())
      if (route.method == "POST" || route.method == "PUT") with_body.push_back(route);
    return with_body;
  }();
  const std::vector<std::string> keys = {
      "model",       "user",    "tenant",  "api_key",       "instance", "qos",
      "reservation", "tokens",  "charge",  "prompt_tokens", "max_rpm",  "output_tokens",
      "ttl_seconds", "max_tpm", "max_rpd", "modell",        ""};
  const std::vector<std::string> values = {"\"m\"",
                                           "\"m\"",
                                           "\"m\"",
                                           "5",
                                           "5",
                                           "0",
                                           "1",
                                           "\"\"",
                                           "true",
                                           "false",
                                           "-1",
                                           "null",
                                           "[]",
                                           "86401",
                                           "{}",
                                           "1.5",
                                           "1000000000000000",
                                           "1000000000000001",
                                           "18446744073709551615"};
  const QuotaRoute route = *rc::gen::elementOf(routes);
  const auto chosen = *rc::gen::unique<std::vector<size_t>>(rc::gen::inRange<size_t>(0, keys.size()));
  std::string text = "{";
  if (std::ranges::find(chosen, size_t{0}) == chosen.end() && *rc::gen::inRange(0, 3) > 0) text += "\"model\":\"m\"";
  for (const size_t key : chosen) {
    if (text.size() > 1) text += ",";
    text += "\"" + keys[key] + "\":" + *rc::gen::elementOf(values);
  }
  text += "}";
  simdjson::dom::parser parser;
  const OpenApiDocument::Element schema =
      document.Operation(route.method, route.path)["requestBody"]["content"]["application/json"]["schema"];
  const std::string violation = document.Violation(schema, OpenApiDocument::Element(parser.parse(text)), "the body");
  const std::string error = ErrorOf(route.call, text);
  RC_LOG() << route.path << " " << text << "\nschema: " << violation << "\nreader: " << error << "\n";
  RC_ASSERT(violation.empty() == (error == "good"));
}

TEST(QuotaJson, SaysWhenACalendarDayEnds) {
  const Limit day{.kind = Limit::Kind::kCalendarDay, .amount = 9, .per = std::chrono::seconds(1771632000)};
  const Decision decision{.allowed = true, .tiers = {{Tier::kTotal, "total:key:sk-1", day, 2, 7}}};
  EXPECT_TRUE(Has(WriteDecision(decision, "m", 1),
                  R"([{"tier":"total","key":"total:key:***","unit":"requests","amount":9,"per":"day",)"
                  R"("ends":"2026-02-21T00:00:00Z","used":2,"remaining":7}])"));
}

TEST(QuotaJson, WritesADecisionOnOneLineAndLeavesOutWhatDoesNotApply) {
  const Decision allowed{.allowed = true,
                         .quota = ModelQuota{.max_rpm = 500, .max_tpm = 30000},
                         .usage = {.rpm = 1, .tpm = 900, .rpd = 1}};
  EXPECT_EQ(WriteDecision(allowed, "gpt-4o", 900), R"({"allowed":true,"code":"ok","model":"gpt-4o","tokens":900,)"
                                                   R"("quota":{"max_rpm":500,"max_tpm":30000,"max_rpd":0},)"
                                                   R"("usage":{"rpm":1,"tpm":900,"rpd":1,"open_reservations":0}})"
                                                   "\n");
  const Limit bucket{.unit = Limit::Unit::kTokens,
                     .kind = Limit::Kind::kBucket,
                     .amount = 100,
                     .per = std::chrono::milliseconds(1500),
                     .burst = 200};
  const Decision refused{.code = QuotaCode::kTierExceeded,
                         .reason = "because",
                         .shadowed = true,
                         .retry_after = std::chrono::milliseconds(11250),
                         .tier = Tier::kQos,
                         .priority = 2,
                         .usage = {.day_start = WallTime(std::chrono::seconds(1771597920)), .open_reservations = 3},
                         .tiers = {{Tier::kQos, "qos:standard:user:alice", bucket, 200, 0}},
                         .reservation = "r@m"};
  EXPECT_EQ(WriteDecision(refused, "m", 7),
            R"({"allowed":false,"code":"tier_exceeded","reason":"because","shadowed":true,"model":"m","tokens":7,)"
            R"("retry_after_seconds":11.25,"tier":"qos","priority":2,"reservation":"r@m",)"
            R"("usage":{"rpm":0,"tpm":0,"rpd":0,"day_start":"2026-02-20T14:32:00Z","open_reservations":3},)"
            R"("tiers":[{"tier":"qos","key":"qos:standard:user:alice","unit":"tokens","amount":100,)"
            R"("per_seconds":1.5,"burst":200,"used":200,"remaining":0}]})"
            "\n");
}

TEST(QuotaJson, KeepsAnApiKeyToItself) {
  const std::pair<const char*, const char*> cases[] = {
      {"key:sk-abc123", "key:***"}, {"user:key", "user:key"}, {"qos:monkey:key:sk-abc123", "qos:monkey:key:***"}};
  for (const auto& [key, written] : cases) {
    const Decision decision{.allowed = true, .tiers = {{Tier::kUserModel, key, Limit{}, 0, 0}}};
    EXPECT_TRUE(Has(WriteDecision(decision, "m", 0), std::string("\"key\":\"") + written + "\"")) << key;
  }
}

RC_GTEST_PROP(QuotaJson, ADecisionIsReadBackAsItWas, (int64_t tokens, bool allowed, uint32_t code, uint64_t wait)) {
  Decision decision{.allowed = allowed, .code = static_cast<QuotaCode>(code % kQuotaCodes)};
  decision.retry_after = Duration(wait % static_cast<uint64_t>(kDay.count()) + 1);
  decision.reason = *rc::gen::string<std::string>();
  for (char& c : decision.reason) c &= 0x7F;
  decision.usage = {.rpm = tokens, .tpm = INT64_MAX, .rpd = INT64_MIN};
  simdjson::dom::parser parser;
  const simdjson::dom::element json = parser.parse(WriteDecision(decision, "m", tokens));
  RC_ASSERT(bool(json["allowed"]) == allowed);
  RC_ASSERT(std::string_view(json["code"]) == NameOf(decision.code));
  RC_ASSERT(int64_t(json["tokens"]) == tokens);
  RC_ASSERT(int64_t(json["usage"]["tpm"]) == INT64_MAX);
  RC_ASSERT(int64_t(json["usage"]["rpd"]) == INT64_MIN);
  RC_ASSERT(FromSeconds(double(json["retry_after_seconds"])) - *decision.retry_after < std::chrono::microseconds(1));
  if (!decision.reason.empty()) RC_ASSERT(std::string_view(json["reason"]) == decision.reason);
}

}  // namespace
}  // namespace weir
