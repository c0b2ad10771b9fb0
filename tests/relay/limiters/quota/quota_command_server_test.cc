// weir quota asking other servers: which ones, with which secrets, and what it says of those that do not answer as they
// should.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fixtures/tls_server.h"
#include "tests/relay/limiters/quota/quota_command_fixture.h"

namespace weir {
namespace {

TEST_F(QuotaCommandTest, NamesTheUrlThatDoesNotAnswer) {
  std::string url;
  {
    const TlsServer server({.tls = false});
    url = "http://127.0.0.1:" + std::to_string(server.port());
  }
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{{"stats"}, {"watch"}}) {
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.end(), {"--gate", url});
    const Ran ended = Command(arguments);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(ended.err.starts_with("weir quota: nothing answers at " + url + " (")) << ended.err;
    EXPECT_TRUE(ended.err.ends_with("; start `weir gate`, or name a store with --store\n")) << ended.err;
  }
}

TEST_F(QuotaCommandTest, SaysThatAGateIsTooSlow) {
  const TlsServer server({.tls = false, .silent = true});
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port());
  const Ran ended = Command({"stats", "--gate", url, "--timeout", "0.2"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "weir quota: no answer from " + url + " within 0.2 s\n");
}

TEST_F(QuotaCommandTest, SaysThatAnotherServerIsThere) {
  for (const int status : {200, 204, 404, 500}) {
    const TlsServer server({.tls = false, .status = status, .body = status == 204 ? "" : "<html>\n<body>"});
    const std::string url = "http://127.0.0.1:" + std::to_string(server.port());
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"stats", "--gate", url}, {"decide", "m", "1", "--gate", url}}) {
      const Ran ended = Command(arguments);
      EXPECT_EQ(ended.code, 2) << status;
      EXPECT_TRUE(ended.err.starts_with("weir quota: " + url)) << ended.err;
    }
  }
}

TEST_F(QuotaCommandTest, AdministratorsShowTheirToken) {
  configuration_.admin.admin_token = "the-token-of-the-test";
  configuration_.admin_from_loopback = AdminFromLoopback::kFalse;
  for (const bool right : {false, true}) {
    Set("WEIR_ADMIN_TOKEN", right ? "the-token-of-the-test" : "another");
    Open();
    const Ran ended = Command({"set", "m", "--rpm", "1", "--gate", "http://" + server_->host_and_port()});
    EXPECT_EQ(ended.code, right ? 0 : 2) << ended.err;
    EXPECT_EQ(Has(ended.err, "is WEIR_ADMIN_TOKEN set to the gate's token?"), !right) << ended.err;
    EXPECT_FALSE(Has(ended.err, "another")) << ended.err;
  }
}

TEST_F(QuotaCommandTest, SaysHowToBeAnAdministrator) {
  configuration_.admin_from_loopback = AdminFromLoopback::kFalse;
  Set("WEIR_DATA_DIR", directory_.path());
  for (const bool has_token : {false, true}) {
    configuration_.admin.admin_token = has_token ? "the-token-of-the-test" : "";
    Open();
    const Ran ended = Command({"set", "m", "--rpm", "1", "--gate", "http://" + server_->host_and_port()});
    server_.reset();
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.err,
              "weir quota: for administrators only: the request shows no token" +
                  std::string(
                      has_token ? "; is WEIR_ADMIN_TOKEN set to the gate's token?"
                                : ". Start the gate with WEIR_ADMIN_TOKEN, and set the same token for `weir quota`.") +
                  " If it is a relay: no relay runs on the data directory " + directory_.path() +
                  "; set WEIR_DATA_DIR to the relay's data directory, which has its token, or WEIR_ADMIN_TOKEN to the "
                  "token\n");
  }
}

TEST_F(QuotaCommandTest, TheTokenGoesOnlyWithWhatIsForAdministrators) {
  Set("WEIR_ADMIN_TOKEN", "the-token-of-the-test");
  const TlsServer server({.tls = false, .status = 403, .body = R"({"error":{"code":"forbidden","message":"no"}})"});
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port());
  Command({"stats", "--gate", url});
  Command({"decide", "gpt-4o", "1", "--gate", url});
  Command({"unset", "gpt-4o", "--gate", url});
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_FALSE(Has(requests[0].all, "the-token-of-the-test"));
  EXPECT_FALSE(Has(requests[1].all, "the-token-of-the-test"));
  EXPECT_TRUE(Has(requests[2].all, "Authorization: Bearer the-token-of-the-test"));
  const Ran ended = Command({"unset", "gpt-4o", "--gate", "http://gate.invalid"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(Has(ended.err, "WEIR_ADMIN_TOKEN is not sent to http://gate.invalid")) << ended.err;
}

TEST_F(QuotaCommandTest, AGateThatServesAdministratorsAloneIsShownTheToken) {
  Set("WEIR_ADMIN_TOKEN", "the-token-of-the-test");
  const TlsServer server({.tls = false, .status = 401, .body = R"({"error":{"code":"unauthorized","message":"no"}})"});
  Command({"decide", "gpt-4o", "1", "--gate", "http://127.0.0.1:" + std::to_string(server.port())});
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_FALSE(Has(requests[0].all, "the-token-of-the-test"));
  EXPECT_TRUE(Has(requests[1].all, "Authorization: Bearer the-token-of-the-test"));
}

TEST_F(QuotaCommandTest, TheVariablesNameTheGate) {
  const TlsServer server({.tls = false, .body = R"({"models":[{"model":"of-the-gate"}]})"});
  Set("WEIR_QUOTA_STORE", "memory");
  Set("WEIR_PORT", std::to_string(server.port()));
  EXPECT_TRUE(Has(Command({"models"}).out, "of-the-gate"));
  Set("WEIR_PORT", "1");
  Set("WEIR_GATE", "http://127.0.0.1:" + std::to_string(server.port()));
  EXPECT_TRUE(Has(Command({"models"}).out, "of-the-gate"));
  const Ran memory = Command({"models", "--store", "memory"});
  EXPECT_EQ(memory.code, 2);
  EXPECT_TRUE(Has(memory.err, "memory is gone with this process")) << memory.err;
}

TEST_F(QuotaCommandTest, AKeyNeedNotStandOnTheCommandLine) {
  const TlsServer server({.tls = false, .body = "{}"});
  Set("WEIR_QUOTA_API_KEY", "sk-of-the-test");
  Command({"decide", "gpt-4o", "1", "--gate", "http://127.0.0.1:" + std::to_string(server.port())});
  EXPECT_TRUE(Has(server.requests().at(0).body, "\"sk-of-the-test\"")) << server.requests().at(0).body;
}

TEST_F(QuotaCommandTest, NamesAWrongSetting) {
  Set("WEIR_PORT", "a-port");
  for (const char* verb : {"models", "watch"}) {
    const Ran ended = Command({verb});
    EXPECT_EQ(ended.code, 2);
    EXPECT_TRUE(ended.err.starts_with("weir quota: WEIR_PORT=a-port: ")) << ended.err;
  }
}

TEST_F(QuotaCommandTest, AStoreThatIsAwayEndsWithTwo) {
  for (const char* body :
       {R"({"allowed":false,"code":"store_unavailable","model":"m","tokens":1,"usage":{}})",
        R"({"error":{"code":"store_unavailable","message":"the store of the quotas does not answer"}})"}) {
    const TlsServer server({.tls = false, .status = 503, .body = body});
    const std::string url = "http://127.0.0.1:" + std::to_string(server.port());
    EXPECT_EQ(Command({"decide", "m", "1", "--gate", url}).code, 2);
    EXPECT_EQ(Command({"explain", "m", "1", "--gate", url, "--json"}).code, 2);
  }
}

TEST_F(QuotaCommandTest, SendsNoTextToGeminiForAnotherModel) {
  const Ran ended = Command({"count", "gpt-4o", "some text"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "weir quota: gpt-4o does not look like a model of the Gemini API (gemini…, gemma…); set "
            "WEIR_COUNT_TOKENS_URL to the server that counts its tokens\n");
  const TlsServer server({.tls = false, .body = R"({"totalTokens": 31})"});
  Set("WEIR_COUNT_TOKENS_URL", "http://127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(Command({"count", "gpt-4o", "some text"}).out, "31\n");
}

TEST_F(QuotaCommandTest, CountsTokensAsTheProviderDoes) {
  const TlsServer server({.tls = false, .body = R"({"totalTokens": 31})"});
  Set("WEIR_COUNT_TOKENS_URL", "http://127.0.0.1:" + std::to_string(server.port()));
  Set("WEIR_COUNT_TOKENS_KEY", "a-key");
  const Ran ended = Command({"count", "gemini-2.5-pro", "some text"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "31\n");
  EXPECT_EQ(Command({"count", "gemini-2.5-pro", "some text", "--json"}).out, R"({"model":"gemini-2.5-pro","tokens":31})"
                                                                             "\n");
  EXPECT_EQ(server.requests().front().key, "a-key");
  EXPECT_TRUE(Has(server.requests().front().body, "some text"));
}

}  // namespace
}  // namespace weir
