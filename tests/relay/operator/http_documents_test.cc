// NIP-11, the page for a browser, and the routes to them.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <string>
#include <utility>

#include "relay/operator/landing_page.h"
#include "relay/operator/nip11.h"
#include "relay/operator/routes.h"
#include "relay/process/version.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

// The parser owns what its elements point to.
class Json {
 public:
  explicit Json(const std::string& text) : root_(parser_.parse(text)) {}
  template <typename T>
  T At(const char* pointer) {
    return T(root_.at_pointer(pointer));
  }
  bool Has(const char* pointer) { return root_.at_pointer(pointer).error() == simdjson::SUCCESS; }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

TEST(Nip11, SaysTheLimitsInForce) {
  RelayConfiguration c;
  c.relay.max_subscriptions = 7;
  c.relay.created_at_past_s = 86400;
  c.server.max_message_bytes = 12345;
  const HttpResponse response = Nip11Document(c);
  EXPECT_EQ(response.content_type, "application/nostr+json");
  Json json(response.body);
  EXPECT_EQ(json.At<int64_t>("/limitation/max_subscriptions"), 7);
  EXPECT_EQ(json.At<int64_t>("/limitation/max_message_length"), 12345);
  EXPECT_EQ(json.At<int64_t>("/limitation/created_at_lower_limit"), 86400);
  EXPECT_EQ(json.At<int64_t>("/limitation/created_at_upper_limit"), 900);
  EXPECT_EQ(json.At<int64_t>("/limitation/max_limit"), 5000);
  EXPECT_EQ(json.At<int64_t>("/limitation/default_limit"), 500);
  EXPECT_EQ(json.At<int64_t>("/limitation/max_subid_length"), 64);
  EXPECT_EQ(json.At<int64_t>("/limitation/max_sync_events"), 750'000);
  EXPECT_EQ(json.At<int64_t>("/limitation/max_content_length"), 131072);
  EXPECT_EQ(json.At<int64_t>("/limitation/max_event_tags"), 2000);
  EXPECT_EQ(json.At<int64_t>("/limitation/min_pow_difficulty"), 0);
  EXPECT_FALSE(json.At<bool>("/limitation/auth_required"));
  EXPECT_FALSE(json.At<bool>("/limitation/payment_required"));
  EXPECT_FALSE(json.At<bool>("/limitation/restricted_writes"));
  EXPECT_EQ(json.At<std::string_view>("/software"), "weir");
  EXPECT_EQ(json.At<std::string_view>("/version"), Version());
  EXPECT_EQ(json.At<int64_t>("/supported_nips/0"), 1);
}

TEST(Nip11, ShowsTheFirstOperatorAndManagementByNip86) {
  RelayConfiguration c;
  const auto has_86 = [&c] { return std::ranges::count(SupportedNips(c.relay), 86) == 1; };
  EXPECT_FALSE(has_86());
  c.relay.admins = std::string(64, '4') + ":read";
  EXPECT_TRUE(has_86());
  EXPECT_FALSE(Json(Nip11Document(c).body).Has("/pubkey"));
  c.relay.admin_pubkey = std::string(64, '2') + "," + std::string(64, '3');
  EXPECT_TRUE(has_86());
  EXPECT_EQ(Json(Nip11Document(c).body).At<std::string_view>("/pubkey"), std::string(64, '2'));
}

TEST(Nip11, ListsSearchOnlyIfItIsOn) {
  RelayConfiguration c;
  EXPECT_EQ(std::ranges::count(SupportedNips(c.relay), 50), 0);
  c.relay.search_kinds = "1";
  EXPECT_EQ(std::ranges::count(SupportedNips(c.relay), 50), 1);
}

TEST(Nip11, ListsNegentropyUnlessItIsOff) {
  RelayConfiguration c;
  EXPECT_EQ(std::ranges::count(SupportedNips(c.relay), 77), 1);
  c.relay.max_sync_events = 0;
  EXPECT_EQ(std::ranges::count(SupportedNips(c.relay), 77), 0);
}

TEST(Nip11, TheStricterOfSettingsAndRulesHolds) {
  RelayConfiguration c;
  c.relay.min_pow_difficulty = 8;
  c.relay.created_at_past_s = 100;
  const auto document = [&](const RuleLimits& rules) { return Json(Nip11Document(c, rules).body); };
  Json stricter = document({.readers_need_auth = true, .least_work_bits = 9, .oldest_s = 50, .newest_s = 7});
  EXPECT_EQ(stricter.At<int64_t>("/limitation/min_pow_difficulty"), 9);
  EXPECT_EQ(stricter.At<int64_t>("/limitation/created_at_lower_limit"), 50);
  EXPECT_EQ(stricter.At<int64_t>("/limitation/created_at_upper_limit"), 7);
  EXPECT_TRUE(stricter.At<bool>("/limitation/auth_required"));
  Json laxer = document({.least_work_bits = 7, .oldest_s = 200, .newest_s = 5000});
  EXPECT_EQ(laxer.At<int64_t>("/limitation/min_pow_difficulty"), 8);
  EXPECT_EQ(laxer.At<int64_t>("/limitation/created_at_lower_limit"), 100);
  EXPECT_EQ(laxer.At<int64_t>("/limitation/created_at_upper_limit"), 900);
  EXPECT_TRUE(laxer.At<bool>("/limitation/restricted_writes")) << "because of the proof of work";
}

TEST(Nip11, GivesClientsRoomByDefault) {
  Json json(Nip11Document({}).body);
  EXPECT_EQ(json.At<int64_t>("/limitation/max_subscriptions"), 300);
  EXPECT_EQ(json.At<int64_t>("/limitation/max_filters"), 200);
}

TEST(Nip11, NamesWhatSettingsMakePossibleOnlyWhereTheyAreSet) {
  RelayConfiguration c;
  EXPECT_TRUE(Has(Nip11Document(c).body, " 59, 65, 70, 77]"));
  c.relay.eose_completeness = true;
  EXPECT_TRUE(Has(Nip11Document(c).body, " 59, 65, 67, 70, 77]"));
  c.relay.url = "wss://relay.example";
  EXPECT_TRUE(Has(Nip11Document(c).body, " 59, 62, 65, 67, 70, 77]"));
}

TEST(Nip11, ReadsWell) {
  const std::string body = Nip11Document({}).body;
  EXPECT_TRUE(body.starts_with("{\n  \"name\": \"weir\",\n")) << body;
  EXPECT_TRUE(Has(body, "\n  \"supported_nips\": [1, 2, 4,")) << body;
  EXPECT_TRUE(Has(body, "\n  \"limitation\": {\n    \"max_message_length\": 262144,\n")) << body;
  EXPECT_TRUE(body.ends_with("\n  }\n}\n")) << body;
}

TEST(Nip11, LeavesOutWhatIsNotSet) {
  Json json(Nip11Document({}).body);
  for (const char* member : {"/pubkey", "/contact", "/icon", "/limitation/created_at_lower_limit"})
    EXPECT_FALSE(json.Has(member)) << member;
}

TEST(Nip11, EscapesWhatTheOperatorWrote) {
  RelayConfiguration c;
  c.relay.name = "a \"quoted\" \\ name\n\x01 ünïcode";
  EXPECT_EQ(Json(Nip11Document(c).body).At<std::string_view>("/name"), c.relay.name);
}

TEST(Nip11, AnyPageMayReadIt) {
  const HttpResponse document = Nip11Document({});
  const std::pair<std::string, std::string> header("Access-Control-Allow-Origin", "*");
  EXPECT_EQ(std::ranges::count(document.headers, header), 1);
}

TEST(LandingPage, SaysHowToConnect) {
  const HttpResponse page = LandingPage({}, {.method = "GET", .path = "/", .headers = {{"host", "relay.example:81"}}});
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_TRUE(Has(page.body, "<code id=\"url\">ws://relay.example:81</code>"));
  EXPECT_TRUE(Has(page.body, "curl -H 'Accept: application/nostr+json' http://relay.example:81/"));
  EXPECT_TRUE(Has(page.body, "/metrics"));
}

TEST(LandingPage, KnowsTlsFromTheProxy) {
  const HttpResponse page = LandingPage({}, {.headers = {{"host", "relay.example"}, {"x-forwarded-proto", "https"}}});
  EXPECT_TRUE(Has(page.body, ">wss://relay.example<"));
}

TEST(LandingPage, PrefersTheUrlThatIsSet) {
  RelayConfiguration c;
  c.relay.url = "wss://relay.example/";
  const HttpResponse page = LandingPage(c, {.headers = {{"host", "10.0.0.1"}}});
  EXPECT_TRUE(Has(page.body, "<code id=\"url\">wss://relay.example/</code>"));
  EXPECT_FALSE(Has(page.body, "10.0.0.1"));
}

TEST(LandingPage, EscapesSettingsAndRequest) {
  RelayConfiguration c;
  c.relay.name = "<b>&{description}";
  const HttpResponse page = LandingPage(c, {.headers = {{"host", "x\"><script>alert(1)</script>"}}});
  EXPECT_TRUE(Has(page.body, "<title>&lt;b&gt;&amp;{description}</title>"));
  EXPECT_FALSE(Has(page.body, "<script>alert"));
}

HttpResponse Get(const HttpRouter& router, const std::string& path, const std::string& accept = "*/*") {
  HttpRequest request{.method = "GET", .path = path, .raw_path = path, .headers = {{"host", "x"}, {"accept", accept}}};
  return std::get<HttpResponse>(router.Route(request));
}

TEST(Routes, AnswerWhatOperatorsAsk) {
  RelayMetrics metrics;
  Status state;
  const RulesInForce rules;
  const HttpRouter router = RelayRoutes({}, metrics, rules, [&](std::string*) { return state; });
  EXPECT_EQ(Get(router, "/healthz").status, 200);
  EXPECT_EQ(Get(router, "/readyz").status, 200);
  EXPECT_TRUE(Has(Get(router, "/metrics").body, "weir_build_info"));
  EXPECT_EQ(Get(router, "/metrics").content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(Get(router, "/api/metrics").content_type, "application/json");
  EXPECT_EQ(Get(router, "/").content_type, "text/html; charset=utf-8");
  EXPECT_EQ(Get(router, "/", "application/nostr+json").content_type, "application/nostr+json");
  EXPECT_EQ(Get(router, "/nowhere").status, 404);

  state = Status::Error("emergency: memory is beyond its mark");
  EXPECT_EQ(Get(router, "/readyz").status, 503);
  EXPECT_EQ(Get(router, "/readyz").body,
            "{\"error\":{\"code\":\"unavailable\",\"message\":\"emergency: memory is beyond its mark\"}}\n");
  EXPECT_EQ(Get(router, "/healthz").status, 200);
}

}  // namespace
}  // namespace weir
