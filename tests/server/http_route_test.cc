// Which handler a path finds, and with what parameters.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "relay/server/http.h"
#include "relay/server/percent.h"

namespace weir {
namespace {

// As the server makes it of what was sent.
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

  HttpResponse Ask(const std::string& method, const std::string& path) const {
    HttpRequest request = Request(method, path);
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
      {"GET", "/v1/models/b%65st", "best"},
      {"GET", "/v1/models/best%2F", "one [best/]"},
      {"HEAD", "/v1/models/x", "one [x]"},
      {"GET", "/v1/models/vendor%2Fmodel%20x", "one [vendor/model x]"},
      {"GET", "/v1/models/100%25", "one [100%]"},
      {"GET", "/v1/models/a+b:c", "one [a+b:c]"},
      {"GET", "/v%31/m%6fdels/x", "one [x]"},
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

TEST_F(HttpRouteTest, WithoutTheMethodAnExactPathLeavesItToAPattern) {
  router_.Add("DELETE", "/v1/models/{model}", Named("deleted"));
  EXPECT_EQ(Ask("DELETE", "/v1/models/best").body, "deleted [best]");
}

TEST_F(HttpRouteTest, AnApiSaysInItsOwnWordsWhatItDoesNotHave) {
  router_.AddWording("/v1/", [](HttpResponse plain) {
    plain.body = "{" + plain.body + "}";
    return plain;
  });
  EXPECT_EQ(Ask("GET", "/v1/nothing").status, 404);
  EXPECT_EQ(Ask("GET", "/v1/nothing").body, "{nothing is at /v1/nothing\n}");
  EXPECT_EQ(Ask("DELETE", "/v1/models").status, 405);
  EXPECT_EQ(Ask("DELETE", "/v1/models").headers.front().first, "Allow");
  EXPECT_EQ(Ask("GET", "/v2/nothing").body, "nothing is at /v2/nothing\n");
  EXPECT_EQ(Ask("GET", "/v1/models").body, "all") << "a handler's answer is its own";
}

}  // namespace
}  // namespace weir
