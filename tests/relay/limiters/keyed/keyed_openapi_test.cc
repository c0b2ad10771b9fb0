// relay/limiters/openapi.json says what /rate and /debug do, no more and no less.
#include <map>
#include <set>
#include <string>

#include "tests/relay/limiters/keyed/keyed_api_fixture.h"
#include "tests/relay/limiters/quota/openapi_document.h"

namespace weir {
namespace {

class KeyedOpenApiTest : public KeyedApiTest {
 protected:
  void See(const std::string& method, const std::string& path, const ClientPointer& client) {
    const KeyedRoute& route = *std::ranges::find_if(
        KeyedApi::Routes(), [&](const KeyedRoute& one) { return one.method == method && one.path == path; });
    ASSERT_TRUE(client->response) << path;
    EXPECT_EQ(document_.Violation(route, *client->response), "") << path << client->body();
    const auto documented =
        document_.Resolved(document_.Operation(method, path)["responses"][std::to_string(client->status())]);
    for (const auto& [name, unused] : client->response->headers) {
      const bool is_said = name == "Cache-Control" || documented["headers"][name].error() == simdjson::SUCCESS ||
                           client->status() == 403;  // the administrators' refusal has this status too
      EXPECT_TRUE(is_said) << name << " of " << client->status();
    }
    seen_[method + " " + path].insert(client->status());
  }

  const OpenApiDocument document_;
  std::map<std::string, std::set<int>> seen_;
};

TEST_F(KeyedOpenApiTest, EachAnswerIsDocumentedAndEachDocumentedIsGiven) {
  for (const char* method : {"GET", "POST"}) {
    const auto take = [&](const std::string& target) { See(method, "/rate/{key}", Ask(method, "/rate/" + target)); };
    Open({.max_requests = 1, .max_waiting = 1}, {.max_keys = 2, .max_waiting = 1});
    for (const char* target : {"a", "a", "%FF", "a?x", "a?maxRequests=1", "b", "c"}) take(target);
    const auto waiting = Ask(method, "/rate/a?canWait");
    take("a?canWait");
    take("b?canWait");
    waiting->Leave();
    See(method, "/rate/{key}", waiting);
    limiter_->Close();
    take("a");
  }
  Open();
  See("GET", "/debug", Ask("GET", "/debug"));
  const std::string id = Take("a")->Member("id");
  See("DELETE", "/rate/{key}/{id}", Ask("DELETE", "/rate/a/" + id));
  See("DELETE", "/rate/{key}/{id}", Ask("DELETE", "/rate/a/" + id));
  See("GET", "/debug", Ask("GET", "/debug"));
  See("GET", "/debug", Ask("GET", "/debug?after=x"));
  See("GET", "/debug/{key}", Ask("GET", "/debug/a"));
  See("GET", "/debug/{key}", Ask("GET", "/debug/b"));
  for (const KeyedRoute& route : KeyedApi::Routes()) {
    std::set<int>& seen = seen_[std::string(route.method) + " " + std::string(route.path)];
    seen.insert({401, 403});  // for clients that are no administrators
    if (route.method == "POST") seen.insert(413);
    EXPECT_EQ(document_.Statuses(route), seen) << route.method << " " << route.path;
  }
}

TEST_F(KeyedOpenApiTest, ItsExamplesAreAsItsSchemasSay) {
  for (const KeyedRoute& route : KeyedApi::Routes()) {
    for (const auto& [status, response] :
         OpenApiDocument::Object(document_.Operation(route.method, route.path)["responses"])) {
      const auto content = document_.Resolved(response)["content"]["application/json"];
      EXPECT_EQ(document_.Violation(content["schema"], content["example"], "the example"), "") << route.path << status;
    }
  }
}

}  // namespace
}  // namespace weir
