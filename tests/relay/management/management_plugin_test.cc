// The requests that may manage a relay, over real sockets.
#include "relay/management_plugin.h"

#include <sstream>
#include <string>
#include <vector>

#include "relay/nostr/npub.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/management/managed_relay.h"

namespace weir {
namespace {

using ManagementPluginTest = ManagedRelayTest;

const std::string kBan = R"({"method":"banpubkey","params":[")" + std::string(64, '2') + R"("]})";

TEST_F(ManagementPluginTest, ACallThatAnAdministratorSignedIsTakenOnce) {
  WaitForProofs();
  const std::string proof = Signed(operator_, Url(), kBan);
  EXPECT_EQ(Nip86(kBan, proof).body, "{\"result\":true}\n");
  const RawAnswer again = Nip86(kBan, proof);
  EXPECT_EQ(again.status, 401);
  EXPECT_TRUE(Has(again.body, "used already")) << again.body;
}

TEST_F(ManagementPluginTest, AnyPathTakesACall) {
  WaitForProofs();
  const std::string call = CallOf("supportedmethods");
  int number = 0;
  for (const std::string path : {"/", "/relay", "/a/b"}) {
    for (const std::string& url : {Url(), Url() + path}) {
      const RawAnswer answer = Nip86(call, Signed(operator_, url, call, std::to_string(number++)), path);
      EXPECT_TRUE(answer.body.starts_with(R"({"result":["allowevent",)")) << path << answer.body;
    }
  }
}

TEST_F(ManagementPluginTest, AnotherBodyThanTheSignedOneIsRefused) {
  WaitForProofs();
  const RawAnswer answer = Nip86(kBan, Signed(operator_, Url(), kBan + " "));
  EXPECT_EQ(answer.status, 401);
  EXPECT_TRUE(Has(answer.body, "payload tag is not the SHA-256")) << answer.body;
  EXPECT_EQ(Manage("listbannedpubkeys").body, "{\"result\":[]}\n");
}

TEST_F(ManagementPluginTest, ACallWithoutAKeyIsRefusedInItsForm) {
  for (const std::string& headers : {std::string(), Token(), std::string("Authorization: Nostr e30=\r\n")}) {
    const RawAnswer answer = Nip86(kBan, headers);
    EXPECT_EQ(answer.status, 401) << answer.body;
    EXPECT_TRUE(answer.body.starts_with(R"({"result":null,"error":"for administrators only: )")) << answer.body;
    EXPECT_EQ(answer.headers.at("access-control-allow-origin"), "*");
    EXPECT_TRUE(Has(answer.headers.at("www-authenticate"), "Nostr"));
  }
}

TEST_F(ManagementPluginTest, AnAdministratorMayCallWhatTheRightsAllow) {
  WaitForProofs();
  EXPECT_EQ(Nip86(kBan, Signed(moderator_, Url(), kBan)).status, 200);
  const std::string rename = CallOf("changerelayname", "\"x\"");
  const RawAnswer answer = Nip86(rename, Signed(moderator_, Url(), rename));
  EXPECT_EQ(answer.status, 403);
  EXPECT_TRUE(Has(answer.body, ToNpub(moderator_.pubkey()))) << answer.body;
  const std::string supported = CallOf("supportedmethods");
  const std::string mine = Nip86(supported, Signed(moderator_, Url(), supported)).body;
  EXPECT_TRUE(Has(mine, "banpubkey")) << mine;
  EXPECT_FALSE(Has(mine, "changerelayname")) << mine;
}

TEST_F(ManagementPluginTest, DecisionsCarryTheAdministratorsNpub) {
  WaitForProofs();
  ASSERT_EQ(Nip86(kBan, Signed(moderator_, Url(), kBan)).status, 200);
  const std::string document = Manage("exportmoderation").body;
  EXPECT_TRUE(Has(document, R"("by":")" + ToNpub(moderator_.pubkey()) + "\"")) << document;
}

TEST_F(ManagementPluginTest, TheTokenIsEnoughOnItsOwnPath) {
  EXPECT_EQ(Manage("supportedmethods").status, 200);
  EXPECT_EQ(Post("/api/moderation", kBan, "").status, 401);
  const std::string other = Token() + "Content-Type: application/nostr+json+rpc\r\n";
  EXPECT_EQ(Post("/api/moderation", CallOf("supportedmethods"), other).status, 200);
}

TEST_F(ManagementPluginTest, APageOfAnotherSiteIsRefused) {
  const RawAnswer answer = Post("/api/moderation", kBan, Token() + "Origin: https://evil.example\r\n");
  EXPECT_EQ(answer.status, 403);
  EXPECT_TRUE(Has(answer.body, "a page of another site")) << answer.body;
}

TEST_F(ManagementPluginTest, PagesOfAnySiteMaySendSignedCalls) {
  const auto allowed = [this](const std::string& path) {
    return AskPort(relay_->port(), "OPTIONS", path, "", "Access-Control-Request-Method: POST\r\n")
        .headers["access-control-allow-methods"];
  };
  EXPECT_TRUE(Has(allowed("/"), "POST"));
  EXPECT_FALSE(Has(allowed("/api/moderation"), "POST"));
  EXPECT_FALSE(Has(allowed("/healthz"), "POST"));
}

TEST_F(ManagementPluginTest, ABodyThatIsTooLongIsRefused) {
  const std::string long_call = CallOf("banpubkey", "\"" + std::string(ManagementMethods::kMostCallBytes, 'a') + "\"");
  EXPECT_EQ(Post("/api/moderation", long_call, Token()).status, 413);
  const std::string document(ManagementMethods::kMostDocumentBytes + 1, ' ');
  EXPECT_EQ(Post("/api/moderation", document, Token()).status, 413);
  EXPECT_EQ(Manage("supportedmethods").status, 200);
}

TEST_F(ManagementPluginTest, OneDocumentIsTakenAtATime) {
  const std::string document = CallOf("hold", "\"" + std::string(ManagementMethods::kMostCallBytes, 'a') + "\"");
  RawClient first(relay_->port());
  ASSERT_TRUE(first.Send(HttpText("POST", "/api/moderation", document, Token())));
  holds_.get_future().wait();
  const RawAnswer other = Post("/api/moderation", document, Token());
  EXPECT_EQ(other.status, 503);
  EXPECT_TRUE(Has(other.body, "another document is being taken")) << other.body;
  let_go_.set_value();
  EXPECT_EQ(AnswerOf(first).body, "{\"result\":true}\n");
}

TEST_F(ManagementPluginTest, ALongAnswerCountsUntilItIsTaken) {
  std::vector<RawClient> waiting;
  for (uint64_t i = 0; i < ManagementPlugin::kMostAtOnce; ++i) {
    waiting.emplace_back(relay_->port());
    waiting.back().Send(HttpText("POST", "/api/moderation", CallOf("fill"), Token()));
  }
  ASSERT_TRUE(Eventually([&] { return fills_ == ManagementPlugin::kMostAtOnce; }));
  EXPECT_EQ(Manage("supportedmethods").status, 503);
  EXPECT_EQ(AnswerOf(waiting.back()).body.size(), kFilledBytes + std::string("{\"result\":\"\"}\n").size());
  EXPECT_TRUE(Eventually([&] { return Manage("supportedmethods").status == 200; }));
}

TEST_F(ManagementPluginTest, CallsAreBoundedAndCounted) {
  std::vector<RawClient> waiting;
  for (uint64_t i = 0; i < ManagementPlugin::kMostAtOnce; ++i) {
    waiting.emplace_back(relay_->port());
    waiting.back().Send("POST /api/moderation HTTP/1.1\r\nHost: 127.0.0.1\r\n" + Token() + "Content-Length: 9\r\n\r\n");
  }
  EXPECT_TRUE(Eventually([&] { return Manage("supportedmethods").status == 503; }));
  waiting.clear();
  EXPECT_TRUE(Eventually([&] { return Manage("supportedmethods").status == 200; }));
  EXPECT_TRUE(Eventually([&] {
    return Has(AskPort(relay_->port(), "GET", "/metrics").body, "weir_management_calls_total{outcome=\"refused\"}");
  }));
}

}  // namespace
}  // namespace weir
