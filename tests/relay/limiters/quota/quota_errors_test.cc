// The answers of a gate to requests that no handler takes, and to many clients of one address.
#include <simdjson.h>

#include <string>
#include <vector>

#include "relay/limiters/quota/quota_call_reader.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/limiters/quota/openapi_document.h"

namespace weir {
namespace {

// Returns the error's code if the body is the API's error; else the body.
std::string CodeOf(const RawAnswer& answer) {
  simdjson::dom::parser parser;
  std::string_view code;
  simdjson::dom::element error;
  if (parser.parse(answer.body).get(error) != simdjson::SUCCESS) return answer.body;
  if (error["error"]["code"].get(code) != simdjson::SUCCESS) return answer.body;
  const OpenApiDocument document;
  const OpenApiDocument::Element schema = document.root()["components"]["schemas"]["Error"];
  EXPECT_EQ(document.Violation(schema, error, "the answer"), "");
  EXPECT_EQ(answer.headers.at("content-type"), "application/json");
  return std::string(code);
}

TEST_F(GateServerTest, RequestsThatNoHandlerTakesGetErrorsOfTheApisForm) {
  Open();
  const std::string long_body(kMaxCallBytes + 1, ' ');
  const struct {
    std::string request;
    int status;
    const char* code;
  } cases[] = {
      {HttpText("GET", "/v1/nothing"), 404, "not_found"},
      {HttpText("GET", "/v1/nothing/%7Bor%20less%7D?a=b"), 404, "not_found"},
      {HttpText("GET", "/v1/decide"), 405, "method_not_allowed"},
      {HttpText("POST", "/v1/models/gpt-4o/quota", "{}"), 405, "method_not_allowed"},
      {HttpText("POST", "/v1/decide", long_body), 413, "body_too_long"},
      {HttpText("PUT", "/v1/models/gpt-4o/quota", long_body), 413, "body_too_long"},
      {HttpText("GET", "/rate/"), 404, "not_found"},
      {HttpText("GET", "/rate/a/b/c"), 404, "not_found"},
      {HttpText("GET", "/rate/a/b"), 405, "method_not_allowed"},
      {HttpText("PUT", "/rate/a"), 405, "method_not_allowed"},
      {HttpText("POST", "/debug"), 405, "method_not_allowed"},
      {HttpText("DELETE", "/debug/a"), 405, "method_not_allowed"},
      {HttpText("GET", "/v1/models/%zz"), 400, "invalid_request"},
      {"GET /v1/models HTTP/1.1\r\n\r\n", 400, "invalid_request"},
      {"POST /v1/decide HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "invalid_request"},
  };
  for (const auto& c : cases) {
    RawClient client(server_->port());
    client.Send(c.request);
    const RawAnswer answer = client.Answer();
    EXPECT_EQ(answer.status, c.status) << c.request.substr(0, 80);
    EXPECT_EQ(CodeOf(answer), c.code) << c.request.substr(0, 80);
  }
  EXPECT_EQ(Ask("GET", "/v1/decide").headers.at("allow"), "POST, OPTIONS");
  EXPECT_EQ(CodeOf(Ask("GET", "/nothing")), "not_found") << "also where no API is";
}

TEST_F(GateServerTest, TakesTheLongestBodyThatTheApiReads) {
  Open();
  std::string body = R"({"model":"gpt-4o","tokens":9})";
  body.resize(kMaxCallBytes, ' ');
  EXPECT_EQ(Ask("POST", "/v1/decide", body).status, 200);
}

// Workers of one machine, or behind one address, keep their connections for the next call.
TEST_F(GateServerTest, HasNoLimitOfConnectionsForOneAddressAlone) {
  Open();
  std::vector<RawClient> clients;
  for (int n = 0; n < 250; ++n) {
    clients.emplace_back(server_->port());
    clients.back().Send(HttpText("GET", "/v1/health"));
    ASSERT_EQ(clients.back().Answer().status, 200) << n;
  }
  EXPECT_GE(configuration_.server.max_connections_per_address, configuration_.server.max_connections);
  EXPECT_GE(configuration_.server.handshake_timeout, std::chrono::seconds(75)) << "as others keep them";
}

TEST_F(GateServerTest, SaysThatItHasNoConnectionLeftAndNotThatAQuotaIsUsedUp) {
  configuration_.server.max_connections_per_address = 1;
  Open();
  // 127.0.0.1 has places of its own.
  const auto ask = [](RawClient& client) {
    client.Send(HttpText("GET", "/v1/health"));
    return client.Answer();
  };
  RawClient first(server_->port(), "127.0.0.2");
  EXPECT_EQ(ask(first).status, 200);
  RawClient second(server_->port(), "127.0.0.2");
  const RawAnswer refused = ask(second);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "10");
}

TEST_F(GateServerTest, ExplainsARefusalInOneLine) {
  configuration_.admin.admin_token = "secret";
  configuration_.admin_from_loopback = AdminFromLoopback::kFalse;
  Open();
  const RawAnswer refused = Ask("DELETE", "/v1/state");
  EXPECT_EQ(CodeOf(refused), "unauthorized");
  EXPECT_TRUE(Has(refused.body, "Any of these will do: - the token: ")) << refused.body;
  EXPECT_FALSE(Has(refused.body, "\\n")) << refused.body;
}

TEST_F(GateServerTest, ExplainsThatAReservationIsUnknown) {
  Open();
  const RawAnswer late =
      Ask("POST", "/v1/commit", R"({"reservation":"00112233445566778899aabbccddeeff@gpt-4o","tokens":9})");
  EXPECT_EQ(late.status, 404);
  EXPECT_TRUE(Has(late.body, "no such reservation is known: it was never made")) << late.body;
}

}  // namespace
}  // namespace weir
