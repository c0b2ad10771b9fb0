// Every parameter and every answer of /rate and /debug.
#include <set>
#include <string>
#include <vector>

#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/limiters/keyed/keyed_api_fixture.h"

namespace weir {

namespace {

using std::chrono::milliseconds;

TEST_F(KeyedApiTest, GrantsAndTellsWhatIsLeft) {
  Open({.max_requests = 3});
  for (const char* method : {"GET", "POST", "GET"}) EXPECT_EQ(Ask(method, "/rate/user-123")->status(), 200) << method;
  const auto other = Take("user-124");
  EXPECT_EQ(other->status(), 200);
  EXPECT_EQ(other->Member("key"), "user-124");
  EXPECT_EQ(other->Member("id").size(), 16U);
  EXPECT_EQ(other->Member("max_requests"), "3");
  EXPECT_EQ(other->Member("used"), "1");
  EXPECT_EQ(other->Member("remaining"), "2");
  EXPECT_EQ(other->Member("window_millis"), "1000");
  EXPECT_EQ(other->Member("waiting"), "0");
  EXPECT_EQ(other->Member("waited_millis"), "0");
  EXPECT_EQ(other->Header("RateLimit-Policy"), R"("requests";q=3;w=1)");
  EXPECT_EQ(other->Header("RateLimit"), R"("requests";r=2;t=1)");
  EXPECT_EQ(other->Header("Cache-Control"), "no-store");
  EXPECT_EQ(other->response->content_type, "application/json");
}

TEST_F(KeyedApiTest, RefusesWhatIsTooMuchAndSaysWhenToComeBack) {
  Open({.window = milliseconds(10'000), .max_requests = 1});
  EXPECT_EQ(Take("a")->status(), 200);
  Pass(milliseconds(2500));
  const auto refused = Take("a");
  EXPECT_EQ(refused->Refusal(), "429 window_full");
  EXPECT_EQ(refused->Header("Retry-After"), "8") << "rounded up";
  EXPECT_EQ(refused->Header("RateLimit"), R"("requests";r=0;t=8)");
  EXPECT_TRUE(Has(refused->body(), "a: 1 of 1 requests in 10 s; try again in 7.5 s")) << refused->body();
  Pass(milliseconds(7500));
  EXPECT_EQ(Take("a")->status(), 200);
}

TEST_F(KeyedApiTest, AMaximumOfZeroRefusesRequestsThatCanWaitToo) {
  Open({.max_requests = 0});
  const auto refused = Take("a?canWait");
  EXPECT_EQ(refused->status(), 429);
  EXPECT_EQ(refused->Header("Retry-After"), "");
  EXPECT_EQ(refused->Header("RateLimit"), R"("requests";r=0;t=0)");
}

TEST_F(KeyedApiTest, AKeyIsASegmentOfThePathAsItWasSent) {
  Open();
  EXPECT_EQ(Take("a%2Fb")->Member("key"), "a/b");
  EXPECT_EQ(Take("a%2Fb")->Member("used"), "2");
  EXPECT_EQ(Take("a%20%C3%A9%3F%22")->Member("key"), "a \xC3\xA9?\\");
  EXPECT_EQ(Take("a+b")->Member("key"), "a+b");
  EXPECT_EQ(Take("a/b")->status(), 405) << "that is a grant";
  EXPECT_EQ(Take("")->status(), 404);
  EXPECT_EQ(Take(std::string(512, 'x'))->status(), 200);
  for (const std::string& bad : {std::string(513, 'x'), std::string("%FF"), std::string("%C3")}) {
    const auto refused = Take(bad);
    EXPECT_EQ(refused->Refusal(), "400 invalid_key") << bad;
  }
}

TEST_F(KeyedApiTest, TakesTheParametersThatItKnows) {
  Open({}, {.overrides = true});
  for (const char* good : {"?", "?canWait", "?canWait=true", "?canWait=false", "?canWait=1", "?canWait=t",
                           "?canWait=True", "?canWait=FALSE", "?maxRequests=1", "?maxRequests=1000000000",
                           "?maxRequestsInQueue=0", "?&canWait&&maxRequests=5&maxRequestsInQueue=1000000&"})
    EXPECT_NE(Take("a" + std::string(good))->status(), 400) << good;
}

TEST_F(KeyedApiTest, NamesTheParameterThatIsWrongAndCountsNoRequest) {
  Open({}, {.overrides = true});
  const struct {
    const char* query;
    const char* named;
  } cases[] = {
      {"canwait", "did you mean canWait?"},
      {"can_wait=true", "found the parameter can_wait"},
      {"maxRequest=1", "did you mean maxRequests?"},
      {"canWait=yes", "canWait: yes is neither true nor false"},
      {"maxRequests=0", "maxRequests: 0 is not within 1..1000000000"},
      {"canWait=", "canWait has no value"},
      {"canWait&canWait", "canWait is there twice"},
      {"maxRequests", "maxRequests has no value"},
      {"maxRequests=", "maxRequests has no value"},
      {"maxRequests=-1", "maxRequests: -1 is not within 1..1000000000"},
      {"maxRequests=1.5", "maxRequests: 1.5 is not"},
      {"maxRequests=1000000001", "maxRequests: 1000000001 is not"},
      {"maxRequests=99999999999999999999", "maxRequests:"},
      {"maxRequests=1&maxRequests=2", "maxRequests is there twice"},
      {"maxRequestsInQueue=x", "maxRequestsInQueue: x is not"},
      {"maxRequestsInQueue=1000001", "maxRequestsInQueue:"},
      {"=", "found the parameter , expected"},
      {"x%0a=1", "found the parameter x%0a"},
  };
  for (const auto& c : cases) {
    const auto refused = Take(std::string("b?") + c.query);
    EXPECT_EQ(refused->Refusal(), "400 invalid_request") << c.query;
    EXPECT_TRUE(Has(refused->body(), c.named)) << refused->body();
  }
  EXPECT_EQ(Ask("HEAD", "/rate/b")->status(), 405) << "it could not tell the grant's id";
  EXPECT_EQ(Ask("GET", "/debug/b")->status(), 404) << "none of them was counted";
}

TEST_F(KeyedApiTest, TakesNoParametersInABody) {
  Open();
  EXPECT_EQ(Ask("POST", "/rate/b", {}, "canWait=true")->status(), 400)
      << "parameters in a body would count for nothing";
  EXPECT_EQ(Ask("GET", "/debug/b")->status(), 404) << "it was not counted";
  for (const char* nothing : {"", "{}", " { }\n"}) {
    const auto granted = Ask("POST", "/rate/b", {}, nothing);
    EXPECT_EQ(granted->status(), 200) << nothing;
    EXPECT_EQ(granted->Member("request_id"), granted->Member("id"));
  }
}

TEST_F(KeyedApiTest, RequestsBringLimitsOnlyWhereTheyMay) {
  Open();
  const auto refused = Take("a?maxRequests=1000");
  EXPECT_EQ(refused->Refusal(), "403 overrides_off");
  EXPECT_EQ(Take("a?maxRequestsInQueue=1")->status(), 403);
  Open({}, {.overrides = true});
  EXPECT_EQ(Take("a?maxRequests=1")->Member("max_requests"), "1");
  EXPECT_EQ(Take("a")->status(), 429) << "they hold for the key";
  EXPECT_EQ(Take("b")->Member("max_requests"), "100");
  EXPECT_EQ(Take("a?canWait&maxRequestsInQueue=0")->Member("code"), "line_full");
}

TEST_F(KeyedApiTest, GrantsWaitingRequestsInTurn) {
  Open({.max_requests = 1, .max_waiting = 2});
  EXPECT_EQ(Take("a")->status(), 200);
  const auto first = Take("a?canWait");
  const auto second = Take("a?canWait=true");
  const auto third = Take("a?canWait");
  EXPECT_EQ(first->status(), 0) << "it waits";
  EXPECT_EQ(second->status(), 0);
  EXPECT_EQ(third->Refusal(), "429 line_full");
  EXPECT_TRUE(Has(third->body(), "2 of 2 wait")) << third->body();
  EXPECT_EQ(Take("a?canWait=false")->Member("code"), "window_full");
  Pass(milliseconds(1000));
  EXPECT_EQ(first->status(), 200);
  EXPECT_EQ(first->Member("waited_millis"), "1000");
  EXPECT_EQ(second->status(), 0);
  Pass(milliseconds(1000));
  EXPECT_EQ(second->status(), 200);
  EXPECT_EQ(second->Member("waited_millis"), "2000");
  const std::string text = MetricsText();
  EXPECT_TRUE(Has(text, "weir_keyed_wait_seconds_count 2")) << text;
  EXPECT_TRUE(Has(text, "weir_keyed_wait_seconds_sum 3")) << text;
}

TEST_F(KeyedApiTest, AClientThatLeavesTheLineConsumesNothing) {
  Open({.max_requests = 1, .max_waiting = 2});
  Take("a");
  const auto first = Take("a?canWait");
  const auto second = Take("a?canWait");
  EXPECT_EQ(Take("a?canWait")->status(), 429);
  first->Leave();
  EXPECT_EQ(first->Refusal(), "499 client_left");
  const auto third = Take("a?canWait");
  EXPECT_EQ(third->status(), 0) << "its place is free";
  Pass(milliseconds(1000));
  EXPECT_EQ(second->status(), 200) << "who stood behind it is next";
  EXPECT_EQ(third->status(), 0);
  Pass(milliseconds(1000));
  EXPECT_EQ(third->status(), 200);
  EXPECT_EQ(limiter_->Counts().left, 1U);
  EXPECT_TRUE(HasLine(MetricsText(), R"(weir_keyed_requests_total{code="client_left"} 1)"));
}

TEST_F(KeyedApiTest, AClientThatIsGoneDoesNotJoinTheLine) {
  Open({.max_requests = 1});
  Take("a");
  const auto gone = std::make_shared<KeyedClient>();
  gone->Leave();
  EXPECT_EQ(Ask("GET", "/rate/a?canWait", {}, "", gone)->status(), 499);
  EXPECT_EQ(limiter_->Counts().waiting, 0U);
}

TEST_F(KeyedApiTest, AnswersWaitingClientsWhenTheServerGoes) {
  Open({.max_requests = 1});
  Take("a");
  const auto waiting = Take("a?canWait");
  waiting->Leave(HttpLeft::kServer);
  EXPECT_EQ(waiting->Refusal(), "503 closed");
  const auto other = Take("a?canWait");
  limiter_->Close();
  EXPECT_EQ(other->status(), 503);
  EXPECT_EQ(other->Header("Retry-After"), "1");
  EXPECT_EQ(Take("b")->status(), 503);
}

TEST_F(KeyedApiTest, GivesAGrantBackOnce) {
  Open({.max_requests = 2});
  const std::string id = Take("a%2Fb")->Member("id");
  EXPECT_NE(Take("a%2Fb")->Member("id"), id);
  EXPECT_EQ(Take("a%2Fb")->status(), 429);
  EXPECT_EQ(Ask("DELETE", "/rate/other/" + id)->status(), 404);
  const auto done = Ask("DELETE", "/rate/a%2Fb/" + id);
  EXPECT_EQ(done->status(), 200);
  EXPECT_EQ(done->Member("given_back"), "true");
  EXPECT_EQ(done->Member("key"), "a/b");
  const auto again = Ask("DELETE", "/rate/a%2Fb/" + id);
  EXPECT_EQ(again->Refusal(), "404 unknown_grant");
  EXPECT_EQ(Take("a%2Fb")->status(), 200) << "its place is free, once";
  EXPECT_EQ(Take("a%2Fb")->status(), 429);
  for (const std::string& bad : {std::string("x"), std::string(16, 'g'), std::string(17, '1'), std::string("%00")})
    EXPECT_EQ(Ask("DELETE", "/rate/a%2Fb/" + bad)->status(), 404) << bad;
  EXPECT_TRUE(HasLine(MetricsText(), R"(weir_keyed_given_back_total{result="given_back"} 1)"));
}

std::string Hex(uint64_t number) {
  std::string digits(16, '0');
  for (size_t i = 16; i-- > 0; number >>= 4) digits[i] = "0123456789abcdef"[number & 15];
  return digits;
}

TEST_F(KeyedApiTest, AClientCannotGuessTheGrantsOfOthers) {
  Open({.max_requests = 100});
  uint64_t mine = 0;
  for (int i = 0; i < 99; ++i) {
    const std::string id = Take("a")->Member("id");
    if (i == 50) mine = std::stoull(id, nullptr, 16);
  }
  for (uint64_t distance = 1; distance <= 100; ++distance) {
    for (const uint64_t guess : {mine + distance, mine - distance}) {
      const std::string digits = Hex(guess);
      EXPECT_EQ(Ask("DELETE", "/rate/a/" + digits)->status(), 404) << digits;
    }
  }
  EXPECT_EQ(Ask("DELETE", "/rate/a/" + Hex(mine))->status(), 200);
}

TEST_F(KeyedApiTest, AGrantThatIsGivenBackGoesToTheFirstInLine) {
  Open({.max_requests = 1});
  const std::string id = Take("a")->Member("id");
  const auto waiting = Take("a?canWait");
  EXPECT_EQ(Ask("DELETE", "/rate/a/" + id)->status(), 200);
  EXPECT_EQ(waiting->status(), 200);
}

TEST_F(KeyedApiTest, SaysWhichBoundIsReached) {
  Open({.max_requests = 1}, {.max_keys = 2, .max_waiting = 1});
  Take("a");
  Take("b");
  const auto no_key = Take("c");
  EXPECT_EQ(no_key->Refusal(), "503 too_many_keys");
  EXPECT_TRUE(Has(no_key->body(), "WEIR_KEYED_MAX_KEYS"));
  EXPECT_NE(no_key->Header("Retry-After"), "");
  const auto waits = Take("a?canWait");
  const auto no_place = Take("b?canWait");
  EXPECT_EQ(no_place->Refusal(), "503 too_many_waiting");
  EXPECT_TRUE(Has(no_place->body(), "WEIR_KEYED_MAX_WAITING"));
}

TEST_F(KeyedApiTest, HasTheCorrelationThatWasSentOrMakesOne) {
  Open({.max_requests = 1000});
  const auto of = [this](const std::string& sent) {
    return Ask("GET", "/rate/a", {{"x-correlation-id", sent}})->Header("X-Correlation-ID");
  };
  EXPECT_EQ(of("abc-123"), "abc-123");
  EXPECT_EQ(of(std::string(128, 'x')), std::string(128, 'x'));
  std::set<std::string> made;
  for (const std::string& bad : {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\r\nb"),
                                 std::string("\xC3\xA9"), std::string("a\x7f")}) {
    EXPECT_NE(of(bad), bad);
    made.insert(of(bad));
  }
  EXPECT_EQ(made.size(), 6U);
  const Fields sent = {{"x-correlation-id", "mine"}};
  for (const auto& answer : {Ask("GET", "/rate/a?x", sent), Ask("DELETE", "/rate/a/0", sent),
                             Ask("GET", "/rate/%FF", sent), Ask("GET", "/rate/a?maxRequests=1", sent)})
    EXPECT_EQ(answer->Header("X-Correlation-ID"), "mine") << answer->body();
}

TEST_F(KeyedApiTest, ShowsWhatIsHeld) {
  Open({.window = milliseconds(2000), .max_requests = 1, .kind = WindowKind::kFixed});
  Take("b");
  Take("a%2F%22");
  Take("b?canWait");
  Take("b");
  Pass(milliseconds(500));
  const auto all = Ask("GET", "/debug");
  EXPECT_EQ(all->status(), 200);
  EXPECT_TRUE(Has(all->body(), R"({"keys":2,"waiting":1,"granted":2,"refused":1,"waited":1,"left":0,"given_back":0,)"))
      << all->body();
  EXPECT_TRUE(Has(all->body(), R"("shown":[{"key":"a/\"",)")) << all->body();
  const auto one = Ask("GET", "/debug/b");
  EXPECT_EQ(one->body(), R"({"key":"b","window":"fixed","window_millis":2000,"max_requests":1,)"
                         R"("max_requests_in_queue":400,"used":1,"waiting":1,"refused":1,"room_in_millis":1500})"
                         "\n");
  const auto none = Ask("GET", "/debug/c");
  EXPECT_EQ(none->Refusal(), "404 unknown_key");
  EXPECT_EQ(Ask("GET", "/debug/a%2F%22")->status(), 200);
}

TEST_F(KeyedApiTest, ShowsPagesOfABoundedSizeWhateverTheKeysAre) {
  Open({}, {.max_keys = 5000});
  constexpr size_t kKeys = 500;
  std::string escaped;
  for (int i = 0; i < 500; ++i) escaped += "%01";
  for (size_t n = 0; n < kKeys; ++n) Take(std::to_string(n) + (n % 2 == 0 ? escaped : ""));
  size_t shown = 0, pages = 0;
  std::string target = "/debug";
  do {
    const auto page = Ask("GET", target);
    ASSERT_EQ(page->status(), 200);
    const std::string text = page->body();
    EXPECT_TRUE(Has(text, R"({"keys":500,)"));
    EXPECT_LT(text.size(), 150'000U);
    for (size_t at = text.find("\"window\""); at != text.npos; at = text.find("\"window\"", at + 1)) ++shown;
    target = page->Member("next").empty() ? "" : "/debug?after=" + page->Member("next");
    ASSERT_LT(++pages, 500U) << "the pages have no end";
  } while (!target.empty());
  EXPECT_EQ(shown, kKeys);
  EXPECT_GE(pages, 8U);
}

TEST_F(KeyedApiTest, NamesAPageThatWasNeverGiven) {
  Open();
  for (const auto& [query, named] :
       {std::pair("after=x", "after: x is not a next value that a page returned"), std::pair("after", "after: "),
        std::pair("after=1", "after: 1 is"), std::pair("after=-1", "after: -1 is"),
        std::pair("after=1-x", "after: 1-x"), std::pair("after=0-0&after=0-0", "after is there twice"),
        std::pair("page=2", "found the parameter page, expected after")}) {
    const auto refused = Ask("GET", "/debug?" + std::string(query));
    EXPECT_EQ(refused->Refusal(), "400 invalid_request") << query;
    EXPECT_TRUE(Has(refused->body(), named)) << refused->body();
  }
  Take("a");
  EXPECT_TRUE(Has(Ask("GET", "/debug?after=24-999999999999999")->body(), R"("shown":[]})"));
}

TEST_F(KeyedApiTest, CountsWhatItAnswers) {
  Open({.max_requests = 1}, {.max_keys = 1});
  const std::pair<const char*, std::string> cases[] = {{"a", "granted"},
                                                       {"a", "window_full"},
                                                       {"b", "too_many_keys"},
                                                       {"a?x", "invalid_request"},
                                                       {"a?maxRequests=1", "overrides_off"},
                                                       {"%FF", "invalid_key"}};
  for (const auto& [target, code] : cases) Take(target);
  const std::string text = MetricsText();
  for (const auto& [target, code] : cases)
    EXPECT_TRUE(HasLine(text, "weir_keyed_requests_total{code=\"" + code + "\"} 1")) << target << "\n" << text;
  EXPECT_TRUE(HasLine(text, "weir_keyed_keys 1"));
  EXPECT_TRUE(HasLine(text, "weir_keyed_waiting 0"));
}

}  // namespace
}  // namespace weir
