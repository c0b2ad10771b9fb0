// Which handler a path finds, and with what parameters.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "config/text/percent.h"
#include "relay/net/http.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

// Makes a request as the server does from what was sent.
HttpRequest Request(const std::string& method, const std::string& raw_path) {
  HttpRequest request;
  request.method = method;
  request.raw_path = raw_path;
  request.path = DecodePercent(raw_path).value_or("");
  return request;
}

HttpHandler Named(const std::string& name) {
  return [name](const HttpRequest& request) {
    std::string text = name;
    for (const std::string& parameter : request.parameters) text += " [" + parameter + "]";
    return HttpResponse{.body = text};
  };
}

struct Kept : HttpReply::Receiver {
  void Give(HttpResponse given) override { response = std::move(given); }
  bool Abandoned() const override { return false; }
  void OnLeft(HttpReply::LeftHandler) override {}
  HttpResponse response;
};

class HttpRouteTest : public testing::Test {
 protected:
  HttpRouteTest() {
    router_.Add("GET", "/v1/models", Named("all"));
    router_.Add("GET", "/v1/models/{model}", Named("one"));
    router_.Add("GET", "/v1/models/best", Named("best"));
    router_.Add("PUT", "/v1/models/{model}/quota", Named("quota"));
    router_.Add("DELETE", "/v1/models/{model}/state", Named("state"));
    router_.AddDeferred("GET", "/{a}/of/{b}", [](const HttpRequest& request, const HttpReply& reply) {
      reply({.body = request.parameters[0] + "+" + request.parameters[1]});
    });
  }

  HttpResponse Ask(const std::string& method, const std::string& path, HttpFields headers = {}) const {
    HttpRequest request = Request(method, path);
    request.headers = std::move(headers);
    auto routed = router_.Route(request);
    if (auto* at_once = std::get_if<HttpResponse>(&routed)) return std::move(*at_once);
    const auto receiver = std::make_shared<Kept>();
    (*std::get<const HttpDeferredHandler*>(routed))(request, HttpReply(receiver));
    return receiver->response;
  }

  HttpRouter router_;
};

TEST_F(HttpRouteTest, FindsByWholeSegments) {
  const struct {
    const char* method;
    const char* path;
    const char* answer;
  } cases[] = {
      {"GET", "/v1/models", "all"},
      {"GET", "/v1/models/gpt-4o", "one [gpt-4o]"},
      {"GET", "/v1/models/best", "best"},
      {"GET", "/v1/models/b%65st", "one [best]"},
      {"GET", "/v1/models/best%2F", "one [best/]"},
      {"HEAD", "/v1/models/x", "one [x]"},
      {"GET", "/v1/models/vendor%2Fmodel%20x", "one [vendor/model x]"},
      {"GET", "/v1/models/100%25", "one [100%]"},
      {"GET", "/v1/models/a+b:c", "one [a+b:c]"},
      {"GET", "/v1/models/{model}", "one [{model}]"},
      {"PUT", "/v1/models/vendor%2Fmodel/quota", "quota [vendor/model]"},
      {"PUT", "/v1/models/best/quota", "quota [best]"},
      {"DELETE", "/v1/models/quota/state", "state [quota]"},
      {"GET", "/x/of/y", "x+y"},
  };
  for (const auto& c : cases) {
    const HttpResponse answer = Ask(c.method, c.path);
    EXPECT_EQ(answer.status, 200) << c.method << " " << c.path;
    EXPECT_EQ(answer.body, c.answer) << c.method << " " << c.path;
  }
}

TEST_F(HttpRouteTest, AParameterIsNeverEmptyNorMoreThanASegment) {
  for (const char* path : {"/v1/models/", "/v1/models//", "/v1/models//quota", "/v1/models/a/b", "/v1/models/a/quota/",
                           "//of/b", "/of/b", "v1/models/a", "/v1%2Fmodels/x", "", "/"}) {
    EXPECT_EQ(Ask("GET", path).status, 404) << path;
    EXPECT_EQ(Ask("PUT", path).status, 404) << path;
  }
}

// A proxy in front may have let it pass as another path.
TEST_F(HttpRouteTest, ARouteHasOneSpelling) {
  router_.Add("GET", "/api/export", Named("export"));
  router_.Add("GET", "/a path", Named("with a blank"));
  EXPECT_EQ(Ask("GET", "/api/export").body, "export");
  EXPECT_EQ(Ask("GET", "/a%20path").body, "with a blank");
  for (const char* path : {"/api/%65xport", "/%61pi/export", "/api%2fexport", "/api%2Fexport", "/v%31/models/x"})
    EXPECT_EQ(Ask("GET", path).status, 404) << path;
  router_.AddStream("GET", "/api/stream", [](const HttpRequest&, HttpExchange&) { return HttpResponse(); });
  EXPECT_NE(router_.StreamFor("GET", "/api/stream", ""), nullptr);
  EXPECT_EQ(router_.StreamFor("GET", "/api/str%65am", ""), nullptr);
}

TEST_F(HttpRouteTest, AContentTypeFindsItsStreamOnAnyOtherPath) {
  const auto none = [](const HttpRequest&, HttpExchange&) { return HttpResponse(); };
  const auto may_post = [this](const char* path) { return Has(Ask("OPTIONS", path).headers.at(1).second, "POST"); };
  router_.AddStream("POST", "/up", none);
  EXPECT_FALSE(may_post("/"));
  router_.AddStreamForContent("application/call", none);
  const HttpStreamFactory* const up = router_.StreamFor("POST", "/up", "application/call");
  const HttpStreamFactory* const call = router_.StreamFor("POST", "/", "Application/Call; charset=utf-8");
  ASSERT_NE(call, nullptr);
  EXPECT_NE(up, call) << "a stream of the path takes precedence";
  for (const char* path : {"/a/b", "/v1/models", "/%61"})
    EXPECT_EQ(router_.StreamFor("POST", path, "application/call"), call) << path;
  for (const char* type : {"", "application/calls", "text/plain"})
    EXPECT_EQ(router_.StreamFor("POST", "/", type), nullptr) << type;
  EXPECT_EQ(router_.StreamFor("GET", "/", "application/call"), nullptr);
  EXPECT_TRUE(may_post("/"));
  EXPECT_TRUE(may_post("/relay"));
  EXPECT_FALSE(may_post("/up"));
  EXPECT_FALSE(may_post("/v1/models"));
}

TEST_F(HttpRouteTest, LetsNoOtherPathShadowARoute) {
  router_.AddStream("PUT", "/stream", [](const HttpRequest&, HttpExchange&) { return HttpResponse(); });
  router_.Add("GET", "/", Named("root"));
  std::vector<std::string> asked;
  router_.AddForOtherPaths(
      [&](std::string_view path) {
        asked.emplace_back(path);
        return path.starts_with("/api") || path == "/a b";
      },
      [](const HttpRequest& request, const HttpReply& reply) { reply({.body = "other " + request.path}); });
  for (const char* method : {"GET", "HEAD", "POST"}) EXPECT_EQ(Ask(method, "/api/x//y").body, "other /api/x//y");
  EXPECT_EQ(Ask("GET", "/a%20b").body, "other /a b");
  EXPECT_EQ(Ask("GET", "/other").status, 404);
  EXPECT_EQ(router_.RefusalFromHead("POST", "/api/x"), std::nullopt);
  EXPECT_EQ(router_.RefusalFromHead("POST", "/other")->status, 404);
  const HttpResponse refused = Ask("DELETE", "/api/x");
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.headers.at(0).second, "GET, HEAD, POST, OPTIONS");
  EXPECT_EQ(Ask("OPTIONS", "/api/x").status, 204);
  EXPECT_EQ(Ask("GET", "/").body, "root");
  EXPECT_EQ(Ask("POST", "/").status, 405);
  asked.clear();
  EXPECT_EQ(Ask("GET", "/v1/models").body, "all");
  EXPECT_EQ(Ask("GET", "/v1/x").status, 404);
  EXPECT_EQ(Ask("GET", "/v1").status, 404);
  EXPECT_EQ(Ask("POST", "/stream/x").status, 404);
  for (const char* path : {"/%61pi", "/api%2Fx", "api", ""}) EXPECT_EQ(Ask("GET", path).status, 404) << path;
  EXPECT_EQ(asked, std::vector<std::string>{}) << "its second spellings, and what stands beside a route";
}

// An endpoint that is limited must not be answered without its turn.
TEST_F(HttpRouteTest, OtherPathsMayTakeTheRootExceptFromBrowsers) {
  router_.Add("GET", "/", Named("root"));
  router_.AddForOtherPaths([](std::string_view path) { return path == "/"; },
                           [](const HttpRequest&, const HttpReply& reply) { reply({.body = "other"}); });
  for (const char* method : {"GET", "HEAD", "POST"}) EXPECT_EQ(Ask(method, "/").body, "other") << method;
  for (const char* accepted : {"application/json", "*/*"})
    EXPECT_EQ(Ask("GET", "/", {{"accept", accepted}}).body, "other") << accepted;
  EXPECT_EQ(Ask("GET", "/", {{"accept", "text/html,*/*;q=0.8"}}).body, "root");
  EXPECT_EQ(Ask("POST", "/", {{"accept", "text/html"}}).body, "other");
  EXPECT_EQ(router_.RefusalFromHead("POST", "/"), std::nullopt);
}

TEST_F(HttpRouteTest, SaysWhatAPathTakes) {
  const auto allowed = [&](const std::string& path) {
    const HttpResponse answer = Ask("POST", path);
    EXPECT_EQ(answer.status, 405) << path;
    return answer.headers.empty() ? "" : answer.headers[0].second;
  };
  EXPECT_EQ(allowed("/v1/models/x"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(allowed("/v1/models/a%2Fb/quota"), "PUT, OPTIONS");
  EXPECT_EQ(allowed("/v1/models/x/state"), "DELETE, OPTIONS");
  router_.Add("PUT", "/v1/models/best", Named("put"));
  EXPECT_EQ(allowed("/v1/models/best"), "GET, HEAD, PUT, OPTIONS");
  EXPECT_EQ(Ask("OPTIONS", "/v1/models/x").status, 204);
}

TEST_F(HttpRouteTest, SaysHowASlashInAParameterIsWritten) {
  router_.Add("DELETE", "/rate/{key}/{id}", Named("deleted"));
  router_.Add("GET", "/rate/{key}", Named("rate"));
  const auto body = [&](const char* method, const char* path) { return Ask(method, path).body; };
  for (const char* method : {"GET", "HEAD"})
    EXPECT_TRUE(Has(body(method, "/rate/a/b"), "/rate/a/b takes DELETE, OPTIONS; a / in the key is written %2F"));
  EXPECT_FALSE(Has(body("GET", "/v1/models/a/quota"), "%2F"));
  EXPECT_TRUE(Has(body("DELETE", "/rate/a/b/c"), "nothing is at /rate/a/b/c; a / in the id is written %2F"));
  EXPECT_TRUE(Has(body("GET", "/v1/models/a/b"), "nothing is at /v1/models/a/b; a / in the model is written %2F"));
  for (const char* path : {"/rate/a", "/rate/a/b", "/v1/models/a/b"})
    EXPECT_FALSE(Has(body("PUT", path), "%2F")) << path;
  EXPECT_EQ(body("GET", "/rate/a%2Fb"), "rate [a/b]");
}

TEST_F(HttpRouteTest, WithoutTheMethodAnExactPathLeavesItToAPattern) {
  router_.Add("DELETE", "/v1/models/{model}", Named("deleted"));
  EXPECT_EQ(Ask("DELETE", "/v1/models/best").body, "deleted [best]");
}

TEST_F(HttpRouteTest, AnApiSaysInItsOwnWordsWhatItDoesNotHave) {
  router_.AddWording("/v1/", [](HttpResponse plain, const HttpRequest&) {
    plain.content_type = "text/worded";
    plain.body = "{" + plain.body + "}";
    return plain;
  });
  EXPECT_EQ(Ask("GET", "/v1/nothing").status, 404);
  EXPECT_EQ(Ask("GET", "/v1/nothing").body, "{nothing is at /v1/nothing\n}");
  EXPECT_EQ(Ask("DELETE", "/v1/models").status, 405);
  EXPECT_EQ(Ask("DELETE", "/v1/models").headers.front().first, "Allow");
  EXPECT_EQ(Ask("GET", "/v2/nothing").body, R"({"error":{"code":"not_found","message":"nothing is at /v2/nothing"}})"
                                            "\n");
  EXPECT_EQ(Ask("GET", "/v1/models").body, "all") << "a handler's answer is its own";
}

// The form is the same over both versions, for every handler and at any time.
TEST_F(HttpRouteTest, AnErrorInPlainTextGoesOutInTheFormOfAll) {
  router_.Add("GET", "/first",
              [](const HttpRequest&) { return HttpResponse{.status = 409, .body = "no:\nnot\nyet\n"}; });
  router_.Add("GET", "/page", [](const HttpRequest&) {
    return HttpResponse{.status = 401, .content_type = "text/html", .body = "<p>who?</p>"};
  });
  router_.Add("GET", "/well", [](const HttpRequest&) { return HttpResponse{.body = "well\n"}; });
  const HttpResponse answer = Ask("GET", "/first");
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(answer.body, R"({"error":{"code":"conflict","message":"no: not; yet"}})"
                         "\n");
  EXPECT_EQ(Ask("GET", "/page").body, "<p>who?</p>");
  EXPECT_EQ(Ask("GET", "/well").body, "well\n");
}

}  // namespace
}  // namespace weir
