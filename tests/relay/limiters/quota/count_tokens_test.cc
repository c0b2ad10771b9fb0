// CountTokens against a server of the test: what it sends, what it believes, and how it fails.
#include "relay/limiters/quota/count_tokens.h"

#include <gtest/gtest.h>

#include <string>

#include "config/wire/http/http_connection.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/silent_port.h"
#include "tests/fixtures/tls_server.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr const char* kKey = "AIza-secret-of-the-test";

CountTokensSettings SettingsFor(const TlsServer& server, const std::string& host = "localhost") {
  CountTokensSettings settings;
  settings.url = "https://" + host + ":" + std::to_string(server.port()) + "/v1beta";
  settings.api_key = kKey;
  settings.ca_file = server.ca_file();
  settings.timeout = std::chrono::minutes(1);
  return settings;
}

// Returns the error, which does not contain the key.
std::string ErrorOf(const CountTokensSettings& settings, std::string_view text = "Hello") {
  const Result<int64_t> tokens = CountTokens(settings, "gemini-2.5-pro", text);
  EXPECT_FALSE(tokens.ok()) << tokens.value();
  EXPECT_FALSE(Has(tokens.status().message(), kKey)) << tokens.status().message();
  return tokens.status().message();
}

TEST(CountTokensTest, AnswersWhatTheProviderCounts) {
  const TlsServer server({.body = R"({"totalTokens": 31, "promptTokensDetails": []})"});
  for (const std::string host : {"localhost", "127.0.0.1"}) {
    const Result<int64_t> tokens = CountTokens(SettingsFor(server, host), "gemini-2.5-pro", "a \"quoted\"\nline, ü");
    ASSERT_TRUE(tokens.ok()) << tokens.status().message();
    EXPECT_EQ(tokens.value(), 31);
  }
  ASSERT_EQ(server.requests().size(), 2u);
  const TlsServer::Request request = server.requests().front();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/v1beta/models/gemini-2.5-pro:countTokens");
  EXPECT_EQ(request.key, kKey);
  EXPECT_EQ(request.body, R"({"contents":[{"parts":[{"text":"a \"quoted\"\nline, ü"}]}]})");
}

TEST(CountTokensTest, TheModelsNameCannotLeaveItsPlaceInThePath) {
  const TlsServer server({.body = R"({"totalTokens": 1})"});
  ASSERT_TRUE(CountTokens(SettingsFor(server), "../a b?key=1#x\xc3\xa9", "").ok());
  EXPECT_EQ(server.requests().front().target, "/v1beta/models/..%2Fa%20b%3Fkey%3D1%23x%C3%A9:countTokens");
}

TEST(CountTokensTest, SendsNoKeyIfNoneIsSet) {
  const TlsServer server({.body = R"({"totalTokens": 0})"});
  CountTokensSettings settings = SettingsFor(server);
  settings.api_key.clear();
  ASSERT_TRUE(CountTokens(settings, "m", "").ok());
  EXPECT_FALSE(Has(server.requests().front().all, "x-goog-api-key"));
}

TEST(CountTokensTest, RefusesACertificateOfAnotherAuthority) {
  const TlsServer server({.body = R"({"totalTokens": 31})"});
  const TlsServer other;
  CountTokensSettings settings = SettingsFor(server);
  settings.ca_file = other.ca_file();
  EXPECT_TRUE(Has(ErrorOf(settings), "its certificate is refused: ")) << ErrorOf(settings);
  settings.ca_file.clear();  // the system's
  EXPECT_TRUE(Has(ErrorOf(settings), "its certificate is refused: unable to get local issuer certificate"));
  EXPECT_TRUE(server.requests().empty());
}

TEST(CountTokensTest, RefusesACertificateForAnotherName) {
  const TlsServer server({.names = "DNS:other.example,IP:127.0.0.2", .body = R"({"totalTokens": 31})"});
  EXPECT_TRUE(Has(ErrorOf(SettingsFor(server, "localhost")), "its certificate is refused: hostname mismatch"));
  EXPECT_TRUE(Has(ErrorOf(SettingsFor(server, "127.0.0.1")), "its certificate is refused: IP address mismatch"));
  EXPECT_TRUE(server.requests().empty());
}

TEST(CountTokensTest, NeedsTheFileOfCertificates) {
  const TlsServer server;
  CountTokensSettings settings = SettingsFor(server);
  settings.ca_file = "/nowhere/ca.crt";
  EXPECT_TRUE(Has(ErrorOf(settings), "cannot read the certificates of /nowhere/ca.crt"));
}

TEST(CountTokensTest, SaysWhatTheProviderSays) {
  const TlsServer server({.status = 403, .body = R"({"error": {"code": 403, "message": "API key not valid."}})"});
  EXPECT_TRUE(ErrorOf(SettingsFor(server)).ends_with(" answers 403: API key not valid."));
}

TEST(CountTokensTest, TamesWhatTheProviderSays) {
  const std::string message = std::string("bad key ") + kKey + R"(\u001b[31m\n)" + std::string(1000, 'x');
  const TlsServer server({.status = 400, .body = R"({"error": {"message": ")" + message + R"("}})"});
  const std::string error = ErrorOf(SettingsFor(server));
  EXPECT_TRUE(Has(error, " answers 400: bad key … [31m xxx")) << error;
  EXPECT_LT(error.size(), 400u);
}

TEST(CountTokensTest, RefusesAnswersWithoutACount) {
  for (const std::string body : {"<html>", "", "[]", "{}", R"({"totalTokens": "31"})", R"({"totalTokens": -1})"}) {
    const TlsServer server({.body = body});
    EXPECT_TRUE(ErrorOf(SettingsFor(server)).ends_with(" has no totalTokens")) << body;
  }
  const TlsServer server({.status = 500, .body = "<html>"});
  EXPECT_TRUE(ErrorOf(SettingsFor(server)).ends_with(" answers 500"));
}

TEST(CountTokensTest, DoesNotReadALongerAnswerThanMayBe) {
  const TlsServer server({.body = R"({"totalTokens": 31})" + std::string(10'000, ' ')});
  CountTokensSettings settings = SettingsFor(server);
  settings.max_answer_bytes = 10'000;
  EXPECT_TRUE(ErrorOf(settings).ends_with(" is larger than 10000 bytes")) << ErrorOf(settings);
  settings.max_answer_bytes = 20'000;
  EXPECT_TRUE(CountTokens(settings, "m", "").ok());
}

TEST(CountTokensTest, GivesUpWhenNoAnswerComes) {
  const TlsServer server({.silent = true});
  CountTokensSettings settings = SettingsFor(server);
  settings.timeout = milliseconds(200);
  EXPECT_TRUE(ErrorOf(settings).ends_with(" within 0.2 s")) << ErrorOf(settings);
}

// A server that takes the connection, and says nothing of TLS.
TEST(CountTokensTest, GivesUpWhenTheHandshakeDoesNotEnd) {
  const TlsServer server({.tls = false, .silent = true});
  CountTokensSettings settings = SettingsFor(server);
  settings.timeout = milliseconds(200);
  EXPECT_TRUE(ErrorOf(settings).ends_with(" within 0.2 s")) << ErrorOf(settings);
}

TEST(CountTokensTest, SaysThatItCannotConnect) {
  const SilentPort silent;
  const CountTokensSettings settings{.url = "https://127.0.0.1:" + std::to_string(silent.port()) + "/v1beta",
                                     .api_key = kKey};
  EXPECT_TRUE(Has(ErrorOf(settings), "cannot connect to 127.0.0.1:")) << ErrorOf(settings);
}

TEST(CountTokensTest, SendsNoTextThatIsTooLongOrNoText) {
  const TlsServer server({.body = R"({"totalTokens": 31})"});
  CountTokensSettings settings = SettingsFor(server);
  settings.max_text_bytes = 10;
  EXPECT_TRUE(CountTokens(settings, "m", "0123456789").ok());
  EXPECT_EQ(ErrorOf(settings, "01234567890"), "the text has 11 bytes, more than 10 (WEIR_COUNT_TOKENS_MAX_TEXT_BYTES)");
  EXPECT_EQ(ErrorOf(settings, "\xff"), "the text is not UTF-8");
  EXPECT_FALSE(CountTokens(settings, "a\nb", "").ok());
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(CountTokensTest, TheKeyGoesInTheClearToThisMachineOnly) {
  const TlsServer server({.tls = false, .body = R"({"totalTokens": 7})"});
  CountTokensSettings settings = SettingsFor(server);
  settings.url = "http://127.0.0.1:" + std::to_string(server.port());
  const Result<int64_t> tokens = CountTokens(settings, "m", "text");
  ASSERT_TRUE(tokens.ok()) << tokens.status().message();
  EXPECT_EQ(tokens.value(), 7);
  settings.url = "http://models.example/v1";
  EXPECT_EQ(ErrorOf(settings),
            "WEIR_COUNT_TOKENS_URL=http://models.example/v1: the key would cross the network in the clear; use https");
}

TEST(CountTokensTest, RefusesSettingsThatCannotBeUsed) {
  CountTokensSettings settings;
  for (const std::string url : {"", "models.example", "ftp://models.example", "https://", "https://a:0/", "https://a:x",
                                "https://u@a/", "https://a/?key=1", "https://[::1/", "https://a b/"}) {
    settings.url = url;
    EXPECT_TRUE(Has(ErrorOf(settings), "WEIR_COUNT_TOKENS_URL=")) << url;
  }
  settings.url = "https://models.example";
  settings.api_key = "a\r\nHost: b";
  EXPECT_TRUE(Has(CountTokens(settings, "m", "").status().message(), "WEIR_COUNT_TOKENS_KEY: not "));
}

}  // namespace
}  // namespace weir
