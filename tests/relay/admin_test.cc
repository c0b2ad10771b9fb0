// Who counts as the administrator.
#include "relay/admin.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <functional>
#include <string>

#include "config/manual_clock.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

constexpr uint64_t kNow = 1'700'000'000;

std::string Base64(const std::string& bytes) {
  std::string text(bytes.size() / 3 * 4 + 5, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

class AdminTest : public testing::Test {
 protected:
  AdminTest() {
    settings_.admin_pubkey = ToHex(signer_.pubkey());
    settings_.url = "wss://relay.example";
  }

  static HttpRequest FromHere() {
    return {.method = "POST",
            .path = "/api/import",
            .query = "",
            .address = "127.0.0.1",
            .peer = "127.0.0.1",
            .body = "",
            .headers = {{"host", "127.0.0.1:3334"}, {"user-agent", "curl"}}};
  }
  static HttpRequest FromElsewhere(const std::string& authorization = "") {
    HttpRequest request = FromHere();
    request.address = request.peer = "203.0.113.9";
    request.headers = {{"host", "relay.example"}};
    if (!authorization.empty()) request.headers.emplace_back("authorization", authorization);
    return request;
  }
  static std::string Tags(const std::string& url = "https://relay.example/api/import",
                          const std::string& method = "POST") {
    return R"([["u",")" + url + R"("],["method",")" + method + "\"]]";
  }
  std::string Proof(const std::string& tags = Tags(), uint64_t created_at = kNow, uint16_t kind = 27235) const {
    return "Nostr " + Base64(signer_.SignedEvent(created_at, kind, tags, ""));
  }

  // 0 where there is none.
  int Status(const HttpRequest& request) const { return StatusOf(Admin(settings_, clock_), request); }
  static int StatusOf(const Admin& admin, const HttpRequest& request) {
    const auto refusal = admin.Refusal(request);
    return refusal ? refusal->status : 0;
  }
  std::string Why(const HttpRequest& request) const {
    const auto refusal = Admin(settings_, clock_).Refusal(request);
    return refusal ? refusal->body : "";
  }

  const Signer signer_{3};
  ManualWallClock clock_{kNow};
  RelaySettings settings_;
};

TEST_F(AdminTest, WhoeverIsOnThisMachineIsOne) {
  EXPECT_EQ(Status(FromHere()), 0);
  const struct {
    const char* what;
    std::function<void(HttpRequest&)> change;
    bool admin;
  } cases[] = {
      {"IPv6", [](HttpRequest& r) { r.peer = r.address = "::1"; }, true},
      {"IPv4 in IPv6", [](HttpRequest& r) { r.peer = r.address = "::ffff:127.0.0.1"; }, true},
      {"all of 127", [](HttpRequest& r) { r.peer = r.address = "127.8.9.10"; }, true},
      {"localhost", [](HttpRequest& r) { r.headers[0].second = "localhost:3334"; }, true},
      {"another machine", [](HttpRequest& r) { r.peer = r.address = "192.168.1.5"; }, false},
      {"a client behind a proxy here", [](HttpRequest& r) { r.address = "203.0.113.9"; }, false},
      {"a proxy elsewhere", [](HttpRequest& r) { r.peer = "203.0.113.9"; }, false},
      {"no address", [](HttpRequest& r) { r.peer = r.address = ""; }, false},
      {"a public name (rebound)", [](HttpRequest& r) { r.headers[0].second = "evil.example"; }, false},
      {"no Host", [](HttpRequest& r) { r.headers.clear(); }, false},
  };
  for (const auto& c : cases) {
    HttpRequest request = FromHere();
    c.change(request);
    EXPECT_EQ(Status(request), c.admin ? 0 : 401) << c.what;
  }
}

TEST_F(AdminTest, WhatSaysThatSomebodyElseAsksIsHeeded) {
  for (const char* header :
       {"x-forwarded-for", "x-real-ip", "forwarded", "via", "x-forwarded-host", "origin", "sec-fetch-site"}) {
    HttpRequest request = FromHere();
    request.headers.emplace_back(header, "127.0.0.1");
    EXPECT_EQ(Status(request), 401) << header;
    request.headers.back().second = "";
    EXPECT_EQ(Status(request), 401) << header << ", empty";
  }
}

TEST_F(AdminTest, BeingHereIsNotEnoughWhereTheOperatorSaysSo) {
  settings_.admin_from_loopback = false;
  EXPECT_EQ(Status(FromHere()), 401);
  HttpRequest proven = FromHere();
  proven.headers.emplace_back("authorization", Proof());
  EXPECT_EQ(Status(proven), 0);
}

TEST_F(AdminTest, WhoeverHasTheKeyIsOne) {
  EXPECT_EQ(Status(FromElsewhere(Proof())), 0);
  EXPECT_EQ(Status(FromElsewhere("nostr" + Proof().substr(5))), 0);
  EXPECT_EQ(Status(FromElsewhere(Proof(Tags(), kNow - 60))), 0);
  EXPECT_EQ(Status(FromElsewhere(Proof(Tags(), kNow + 60))), 0);
  EXPECT_EQ(Status(FromElsewhere(Proof(Tags("wss://relay.example/api/import")))), 0);
  EXPECT_EQ(Status(FromElsewhere(Proof(Tags("HTTPS://Relay.Example:443/api/import")))), 0);
  std::string unpadded = Proof();
  while (unpadded.ends_with('=')) unpadded.pop_back();
  EXPECT_EQ(Status(FromElsewhere(unpadded)), 0);
}

TEST_F(AdminTest, ProofsThatDoNotFitAreRefusedAndSaidWhy) {
  std::string forged = signer_.SignedEvent(kNow, 27235, Tags(), "");
  char& last = forged[forged.find("\"sig\":\"") + 100];
  last = last == '0' ? '1' : '0';
  const struct {
    std::string authorization;
    int status;
    std::string part_of_why;
  } cases[] = {
      {"", 401, "NIP-98"},
      {"Basic dXNlcjpwYXNz", 401, "NIP-98"},
      {"Nostr", 401, "no event in base64"},
      {"Nostr ", 401, "no event in base64"},
      {"Nostr !!!!", 401, "no event in base64"},
      {"Nostr " + Base64("{}"), 401, "no event in base64"},
      {"Nostr " + std::string(100'000, 'A'), 401, "no event in base64"},
      {"Nostr " + Base64(Signer(4).SignedEvent(kNow, 27235, Tags(), "")), 403, "not the admin's"},
      {Proof(Tags(), kNow, 22242), 401, "kind 27235, not 22242"},
      {Proof(Tags(), kNow - 61), 401, "61 s away"},
      {Proof(Tags(), kNow + 61), 401, "61 s away"},
      {Proof(Tags("https://relay.example/api/import", "GET")), 401, "method tag must be POST"},
      {Proof(R"([["u","https://relay.example/api/import"]])"), 401, "method tag must be POST"},
      {Proof(R"([["u"],["method","POST"]])"), 401, "u tag must be https://relay.example/api/import"},
      {Proof(Tags("https://relay.example/api/export")), 401, "u tag must be"},
      {Proof(Tags("https://relay.example/api/import?verify=false")), 401, "u tag must be"},
      {Proof(Tags("https://relay.example")), 401, "u tag must be"},
      {Proof(Tags("http://relay.example/api/import")), 401, "u tag must be"},
      {Proof(Tags("https://evil.example/api/import")), 401, "u tag must be"},
      {Proof(Tags("https://relay.example@evil.example/api/import")), 401, "u tag must be"},
      {Proof(Tags("relay.example/api/import")), 401, "u tag must be"},
      {"Nostr " + Base64(forged), 401, "wrong signature"},
  };
  for (const auto& c : cases) {
    const HttpRequest request = FromElsewhere(c.authorization);
    EXPECT_EQ(Status(request), c.status) << c.authorization << Why(request);
    EXPECT_NE(Why(request).find(c.part_of_why), std::string::npos) << Why(request);
  }
}

TEST_F(AdminTest, TheQueryIsPartOfWhatIsProven) {
  HttpRequest request = FromElsewhere(Proof(Tags("https://relay.example/api/import?verify=false")));
  request.query = "verify=false";
  EXPECT_EQ(Status(request), 0);
  request.query = "verify=true";
  EXPECT_EQ(Status(request), 401);
}

TEST_F(AdminTest, WithoutItsAddressOnlyANearHostCounts) {
  settings_.url = "";
  HttpRequest request = FromElsewhere(Proof(Tags("http://192.168.1.2:3334/api/import")));
  request.headers[0].second = "192.168.1.2:3334";
  EXPECT_EQ(Status(request), 0);
  request = FromElsewhere(Proof());
  EXPECT_EQ(Status(request), 401);
  EXPECT_NE(Why(request).find("WEIR_RELAY_URL"), std::string::npos) << Why(request);
}

TEST_F(AdminTest, WithoutAKeyOnlyThisMachineCounts) {
  settings_.admin_pubkey = "";
  EXPECT_EQ(Status(FromHere()), 0);
  EXPECT_EQ(Status(FromElsewhere()), 403);
  EXPECT_EQ(Status(FromElsewhere(Proof())), 403);
}

TEST_F(AdminTest, AProofIsGoodOnce) {
  const Admin admin(settings_, clock_);
  const HttpRequest ahead = FromElsewhere(Proof(Tags(), kNow + 60));
  EXPECT_EQ(StatusOf(admin, ahead), 0);
  EXPECT_EQ(StatusOf(admin, ahead), 401);
  clock_.Advance(120);
  EXPECT_EQ(StatusOf(admin, ahead), 401) << "it is not too old yet";
  EXPECT_NE(admin.Refusal(ahead)->body.find("used already"), std::string::npos);
  EXPECT_EQ(StatusOf(admin, FromElsewhere(Proof(Tags(), kNow + 120))), 0);
  clock_.Advance(1);
  EXPECT_NE(admin.Refusal(ahead)->body.find("61 s away"), std::string::npos);
}

TEST_F(AdminTest, TheRefusalTellsClientsHowToProveThemselves) {
  const auto refusal = Admin(settings_, clock_).Refusal(FromElsewhere());
  ASSERT_TRUE(refusal.has_value());
  ASSERT_EQ(refusal->headers.size(), 1U);
  EXPECT_EQ(refusal->headers[0], std::pair(std::string("WWW-Authenticate"), std::string("Nostr")));
}

}  // namespace
}  // namespace weir
