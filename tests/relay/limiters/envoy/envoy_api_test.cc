// POST /json and /debug/ratelimit on clocks that stand still.
#include "relay/limiters/envoy/envoy_api.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <set>

#include "config/manual_clock.h"
#include "relay/limiters/envoy/envoy_rules.h"
#include "relay/limiters/rate_limit_fields.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/limiters/quota/openapi_document.h"

namespace weir {
namespace {

// Takes what is answered before Ask returns.
struct EnvoyClient : HttpReply::Receiver {
  void Give(HttpResponse given) override { response = std::move(given); }
  bool Abandoned() const override { return false; }
  void OnLeft(HttpReply::LeftHandler) override {}
  HttpResponse response{.status = 0};
};

constexpr const char* kRules =
    "domain: d\n"
    "descriptors:\n"
    "  - {key: a, rate_limit: {unit: minute, requests_per_unit: 2, name: of_a}}\n"
    "  - {key: b, rate_limit: {unit: day, requests_per_unit: 9}}\n"
    "  - {key: free, rate_limit: {unlimited: true}}\n";

class EnvoyApiTest : public testing::Test {
 protected:
  void Open(bool response_headers = false, size_t max_bytes = 1 << 20) {
    directory_.Write("a.yaml", kRules);
    const auto read = ReadEnvoyRules(directory_.path());
    ASSERT_TRUE(read.ok()) << read.status().message();
    limiter_.emplace(DescriptorConfig{.rules = read.value().rules, .max_bytes = max_bytes, .shards = 1}, wall_clock_,
                     clock_);
    api_.emplace(*limiter_, metrics_, response_headers);
  }
  HttpResponse AskAt(std::string_view path, const std::string& json = "") {
    const auto client = std::make_shared<EnvoyClient>();
    const EnvoyRoute& route = *std::ranges::find(EnvoyApi::Routes(), path, &EnvoyRoute::path);
    api_->Answer(route, {.body = json}, HttpReply(client));
    EXPECT_EQ(document_.Violation(route, client->response), "") << client->response.body;
    seen_[std::string(path)].insert(client->response.status);
    return client->response;
  }
  HttpResponse Ask(const std::string& json) { return AskAt("/json", json); }
  static std::string Of(const std::string& key, const std::string& value) {
    return R"({"entries":[{"key":")" + key + R"(","value":")" + value + R"("}]})";
  }
  static std::string Body(const std::string& descriptors, const std::string& more = "") {
    return R"({"domain":"d","descriptors":[)" + descriptors + "]" + more + "}";
  }
  std::string ErrorOf(const std::string& json) {
    const HttpResponse response = Ask(json);
    EXPECT_EQ(response.status, 400) << json << response.body;
    return response.body;
  }
  std::string MetricsText() const {
    MetricFamilies families;
    metrics_.AppendTo(families, *limiter_);
    return prometheus::TextSerializer().Serialize(std::move(families).Take());
  }

  const OpenApiDocument document_;
  std::map<std::string, std::set<int>> seen_;
  TempDirectory directory_;
  ManualWallClock wall_clock_{uint64_t{1'700'000'040}};
  ManualClock clock_;
  EnvoyMetrics metrics_;
  std::optional<EnvoyApi> api_;
  std::optional<DescriptorLimiter> limiter_;
};

TEST_F(EnvoyApiTest, AnswersAsThePublishedServiceDoes) {
  Open();
  HttpResponse response = Ask(Body(Of("a", "1") + "," + Of("free", "x") + "," + Of("none", "x")));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(
      response.body,
      R"({"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"requestsPerUnit":2,"unit":"MINUTE",)"
      R"("name":"of_a"},"limitRemaining":1,"durationUntilReset":"60s"},{"code":"OK","limitRemaining":4294967295},)"
      R"({"code":"OK"}]})"
      "\n");
  wall_clock_.Advance(uint64_t{20});
  response = Ask(Body(Of("a", "1") + "," + Of("b", "1"), R"(,"hitsAddend":2)"));
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.body,
            R"({"overallCode":"OVER_LIMIT","statuses":[{"code":"OVER_LIMIT","currentLimit":{"requestsPerUnit":2,)"
            R"("unit":"MINUTE","name":"of_a"},"durationUntilReset":"40s"},{"code":"OK","currentLimit":)"
            R"({"requestsPerUnit":9,"unit":"DAY"},"limitRemaining":9,"durationUntilReset":"6340s"}]})"
            "\n")
      << "what is over already makes no new name";
  EXPECT_EQ(response.headers, (HttpFields{{"Retry-After", "40"}}));
}

TEST_F(EnvoyApiTest, TakesEveryFormThatProtobufsJsonHas) {
  Open();
  const auto remaining = [&](const std::string& json) {
    const std::string body = Ask(json).body;
    const size_t at = body.find("limitRemaining\":");
    return at == body.npos ? std::string("none") : body.substr(at + 16, body.find_first_of(",}", at) - at - 16);
  };
  EXPECT_EQ(remaining(Body(Of("b", "1"), R"(,"hits_addend":"2")")), "7");
  EXPECT_EQ(remaining(Body(R"({"entries":[{"key":"b","value":"1"}],"hitsAddend":"3","limit":null})")), "4");
  EXPECT_EQ(remaining(Body(R"({"hits_addend":0,"entries":[{"value":"1","key":"b"}]})", R"(,"hitsAddend":null)")), "4");
  const std::string entries = R"("entries":[{"key":"x","value":"y"}])";
  EXPECT_EQ(remaining(Body("{" + entries + R"(,"limit":{"requestsPerUnit":20,"unit":"WEEK"}})")), "19");
  EXPECT_EQ(remaining(Body("{" + entries + R"(,"limit":{"requests_per_unit":"20","unit":7}})")), "18");
  EXPECT_EQ(Ask(Body("{" + entries + R"(,"limit":{"unit":"DAY"}})")).status, 429) << "0 requests a day";
  EXPECT_EQ(Ask(R"({"domain":"d\u0065","descriptors":[{}]})").status, 200) << "nobody knows it";
}

TEST_F(EnvoyApiTest, SaysWhatIsWrongAndWhere) {
  Open();
  const struct {
    std::string json;
    const char* error;
  } cases[] = {
      {"", "the body is not JSON"},
      {"{\"domain\":", "the body is not JSON"},
      {"[]", "found an array, expected an object"},
      {"{}", "the domain is empty"},
      {R"({"domain":"d"})", "there is no descriptor"},
      {R"({"domain":7})", "domain: found a number, expected a text"},
      {R"({"domain":"d","domain":"d"})", R"(found the member \"domain\" again)"},
      {R"({"domian":"d"})",
       R"(found the member \"domian\", expected one of domain, descriptors, hitsAddend; did you mean \"domain\"?)"},
      {R"({"domain":"d","descriptors":{}})", "descriptors: found an object, expected an array"},
      {Body("{},7"), "descriptors[1]: found a number, expected an object"},
      {Body(R"({"entries":[{"key":"a"},{"valeu":"b"}]})"), "descriptors[0].entries[1]: found the member"},
      {Body(R"({"entries":[{"key":true}]})"), "descriptors[0].entries[0].key: found true or false, expected a text"},
      {Body(R"({"hitsAddend":-1})"), "descriptors[0].hitsAddend: expected a whole number"},
      {Body(R"({"hitsAddend":" 1"})"), "descriptors[0].hitsAddend: expected a whole number"},
      {Body(R"({"hitsAddend":"1x"})"), "descriptors[0].hitsAddend: expected a whole number"},
      {Body("{}", R"(,"hitsAddend":4294967296)"), "hitsAddend: expected a whole number of at most 4294967295"},
      {Body(R"({"limit":{"requestsPerUnit":1}})"), "descriptors[0].limit: found no unit, expected one"},
      {Body(R"({"limit":{"unit":"FORTNIGHT"}})"),
       "descriptors[0].limit.unit: found a unit that is none, expected one of SECOND, MINUTE"},
      {Body(R"({"limit":{"unit":"UNKNOWN"}})"), "found a unit that is none"},
      {Body(R"({"limit":{"unit":8}})"), "found a unit that is none"},
      {Body(R"({"limit":{"unit":99}})"), "limit.unit: expected a whole number of at most 8"},
      {Body("{\"entries\":[{\"key\":\"\xff\"}]}"), "the body is not JSON"},
  };
  for (const auto& c : cases) {
    const std::string error = ErrorOf(c.json);
    EXPECT_TRUE(error.starts_with(R"({"error":{"code":"invalid_request","message":")")) << error;
    EXPECT_TRUE(Has(error, c.error)) << c.json << error;
  }
  EXPECT_TRUE(Has(ErrorOf(std::string(5000, '[')), "the body is not JSON"));
  EXPECT_EQ(limiter_->Counts().names, 0u);
}

TEST_F(EnvoyApiTest, TellsWhichHeaderFieldsAResponseShallHaveWhereItIsAsked) {
  Open(true);
  const auto headers = [&](const std::string& descriptors) {
    const std::string body = Ask(Body(descriptors)).body;
    return body.substr(body.find("\"responseHeadersToAdd\""));
  };
  EXPECT_EQ(
      headers(Of("b", "1") + "," + Of("a", "1")),
      R"("responseHeadersToAdd":[{"key":"RateLimit-Limit","value":"2"},{"key":"RateLimit-Remaining","value":"1"},)"
      R"({"key":"RateLimit-Reset","value":"60"}]})"
      "\n")
      << "of the one that is nearest";
  EXPECT_EQ(headers(Of("none", "1")), "\"responseHeadersToAdd\":[]}\n");
  Ask(Body(Of("a", "1")));
  EXPECT_TRUE(Has(headers(Of("b", "1") + "," + Of("a", "1")), R"("RateLimit-Remaining","value":"0")"));
}

// Chooses as the published service does: the last descriptor that refuses, else the first of those with least left.
TEST_F(EnvoyApiTest, HeaderFieldsAreThoseOfTheDescriptorThatRefuses) {
  directory_.Write("b.yaml",
                   "domain: e\n"
                   "descriptors:\n"
                   "  - {key: one, rate_limit: {unit: minute, requests_per_unit: 1}}\n"
                   "  - {key: two, rate_limit: {unit: minute, requests_per_unit: 2}}\n"
                   "  - {key: quota, quota_mode: true, rate_limit: {unit: day, "
                   "requests_per_unit: 0}}\n"
                   "  - {key: shadow, shadow_mode: true, rate_limit: {unit: day, "
                   "requests_per_unit: 0}}\n");
  Open(true);
  const auto limit_told = [&](const std::vector<std::string>& keys) {
    std::string descriptors;
    for (const std::string& key : keys) descriptors += (descriptors.empty() ? "" : ",") + Of(key, "1");
    const std::string body = Ask(R"({"domain":"e","descriptors":[)" + descriptors + "]}").body;
    const size_t at = body.find(R"("RateLimit-Limit","value":")");
    return at == body.npos ? std::string("none") : body.substr(at + 27, body.find('"', at + 27) - at - 27);
  };
  EXPECT_EQ(limit_told({"two", "one"}), "1") << "with least left";
  EXPECT_EQ(limit_told({"quota", "two"}), "0") << "the first with least left, though it refuses nothing by itself";
  for (int i = 0; i < 3; ++i) limit_told({"one", "two"});  // both are over now
  EXPECT_EQ(limit_told({"one", "two"}), "2") << "the last that is over";
  EXPECT_EQ(limit_told({"two", "one"}), "1");
  EXPECT_EQ(limit_told({"quota", "one"}), "1") << "a quota that is over is told of where nothing refuses";
  EXPECT_EQ(limit_told({"one", "quota"}), "1");
  EXPECT_EQ(limit_told({"shadow", "one"}), "1") << "a shadow has as little left, and refuses nothing";
  EXPECT_EQ(limit_told({"one", "shadow"}), "1");
}

TEST_F(EnvoyApiTest, AFloodOfValuesIsAnsweredAsAnyRequest) {
  Open(false, 2'000);
  int passed = 0;
  for (int i = 0; i < 500; ++i) {
    const HttpResponse response = Ask(Body(Of("b", std::to_string(i)), R"(,"hitsAddend":5)"));
    EXPECT_TRUE(response.status == 200 || response.status == 429) << response.body;
    passed += response.status == 200 ? 1 : 0;
  }
  EXPECT_LT(passed, 50) << "those without a place of their own count together";
  const std::string text = MetricsText();
  EXPECT_FALSE(HasLine(text, R"(weir_ratelimit_crowded_hits_total{domain="d",rule="b"} 0)")) << text;
  EXPECT_TRUE(HasLine(text, R"(weir_ratelimit_crowded_hits_total{domain="d",rule="a"} 0)")) << text;
}

TEST_F(EnvoyApiTest, MetricsAndTheDebugPageTellOfEachRule) {
  Open();
  for (int i = 0; i < 3; ++i) Ask(Body(Of("a", "1") + "," + Of("none", "1")));
  Ask(R"({"domain":"unknown","descriptors":[{}]})");
  Ask("nonsense");
  Ask("{}");
  const std::string text = MetricsText();
  for (const char* line :
       {R"(weir_ratelimit_requests_total{code="ok"} 3)", R"(weir_ratelimit_requests_total{code="over_limit"} 1)",
        R"(weir_ratelimit_requests_total{code="invalid_request"} 1)",
        R"(weir_ratelimit_requests_total{code="unreadable"} 1)", R"(weir_ratelimit_hits_total{domain="d",rule="a"} 3)",
        R"(weir_ratelimit_over_limit_hits_total{domain="d",rule="a"} 1)",
        R"(weir_ratelimit_near_limit_hits_total{domain="d",rule="a"} 1)",
        R"(weir_ratelimit_within_limit_hits_total{domain="d",rule="a"} 2)",
        R"(weir_ratelimit_shadow_mode_hits_total{domain="d",rule="a"} 0)",
        "weir_ratelimit_hits_total{domain=\"d\",rule=\"(overrides)\"} 0",
        R"(weir_ratelimit_descriptors_without_limit_total{reason="no_rule"} 3)",
        R"(weir_ratelimit_descriptors_without_limit_total{reason="unknown_domain"} 1)", "weir_ratelimit_rules 3",
        R"(weir_ratelimit_crowded_hits_total{domain="d",rule="a"} 0)", "weir_ratelimit_names_gave_way_total 0",
        "weir_ratelimit_names 1", "weir_ratelimit_config_good 1"}) {
    EXPECT_TRUE(HasLine(text, line)) << line << "\n" << text;
  }
  const std::string shown = AskAt("/debug/ratelimit").body;
  EXPECT_TRUE(Has(shown, R"({"domains":1,"rules":3,"names":1,)")) << shown;
  EXPECT_TRUE(Has(shown, R"({"domain":"d","rule":"a","requests_per_unit":2,"unit":"MINUTE","name":"of_a",)"
                         R"("shadow_mode":false,"quota_mode":false,"hits":3,"over_limit":1,"near_limit":1})"))
      << shown;
}

// Each answer of these tests is checked against openapi.json (AskAt).
TEST_F(EnvoyApiTest, EachDocumentedAnswerIsGiven) {
  Open();
  Ask(Body(Of("a", "1"), R"(,"hitsAddend":2)"));
  Ask(Body(Of("a", "1")));
  Ask(Body(Of("b", "1")));
  Ask("{}");
  AskAt("/debug/ratelimit");
  for (const EnvoyRoute& route : EnvoyApi::Routes()) {
    std::set<int>& seen = seen_[std::string(route.path)];
    seen.insert({401, 403});  // for clients that are no administrators
    if (route.method == "POST") seen.insert(413);
    EXPECT_EQ(document_.Statuses(route), seen) << route.path;
    for (const auto& [status, response] :
         OpenApiDocument::Object(document_.Operation(route.method, route.path)["responses"])) {
      const auto content = document_.Resolved(response)["content"]["application/json"];
      EXPECT_EQ(document_.Violation(content["schema"], content["example"], "the example"), "") << route.path << status;
    }
  }
}

TEST_F(EnvoyApiTest, ItsDocumentedRequestIsTaken) {
  Open();
  const auto content = document_.Operation("POST", "/json")["requestBody"]["content"]["application/json"];
  EXPECT_EQ(document_.Violation(content["schema"], content["example"], "the example"), "");
  EXPECT_EQ(Ask(simdjson::to_string(content["example"])).status, 200);
}

}  // namespace
}  // namespace weir
