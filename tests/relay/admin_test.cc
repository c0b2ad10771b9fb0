// Who counts as the administrator.
#include "relay/admin.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

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
  int Status(const HttpRequest& request) const { return StatusOf(MakeAdmin(), request); }
  static int StatusOf(const Admin& admin, const HttpRequest& request) {
    const auto refusal = admin.Refusal(request);
    return refusal ? refusal->status : 0;
  }
  std::string Why(const HttpRequest& request) const {
    const auto refusal = MakeAdmin().Refusal(request);
    return refusal ? refusal->body : "";
  }
  Admin MakeAdmin() const { return Admin(settings_, clock_, token_, TrustInLoopback(settings_, proxies_)); }

  const Signer signer_{3};
  ManualWallClock clock_{kNow};
  RelaySettings settings_;
  std::string token_;
  std::string proxies_;
};

// Of a relay that is nobody's but this machine's, as it is without any setting.
class LoopbackTest : public AdminTest {
 protected:
  LoopbackTest() { settings_ = RelaySettings(); }
  static HttpRequest FromHereWith(std::vector<std::pair<std::string, std::string>> headers) {
    HttpRequest request = FromHere();
    request.headers = std::move(headers);
    return request;
  }
};

TEST_F(LoopbackTest, WhoeverIsOnThisMachineIsAnAdmin) {
  EXPECT_EQ(Status(FromHere()), 0);
  const struct {
    const char* what;
    std::function<void(HttpRequest&)> change;
    const char* why;  // null: is one
  } cases[] = {
      {"IPv6", [](HttpRequest& r) { r.peer = r.address = "::1"; }, nullptr},
      {"IPv4 in IPv6", [](HttpRequest& r) { r.peer = r.address = "::ffff:127.0.0.1"; }, nullptr},
      {"all of 127", [](HttpRequest& r) { r.peer = r.address = "127.8.9.10"; }, nullptr},
      {"localhost", [](HttpRequest& r) { r.headers[0].second = "localhost:3334"; }, nullptr},
      {"in capitals", [](HttpRequest& r) { r.headers[0].second = "LocalHost"; }, nullptr},
      {"a name below it", [](HttpRequest& r) { r.headers[0].second = "weir.localhost"; }, nullptr},
      {"IPv6's Host", [](HttpRequest& r) { r.headers[0].second = "[::1]:3334"; }, nullptr},
      {"another machine", [](HttpRequest& r) { r.peer = r.address = "192.0.2.2"; },
       "it comes from 192.0.2.2, which is not this machine"},
      {"another machine that asks for localhost",
       [](HttpRequest& r) {
         r.peer = r.address = "192.168.1.5";
         r.headers[0].second = "localhost";
       },
       "it comes from 192.168.1.5"},
      {"a client behind a proxy here", [](HttpRequest& r) { r.address = "203.0.113.9"; }, "it comes from 203.0.113.9"},
      {"a proxy elsewhere", [](HttpRequest& r) { r.peer = "203.0.113.9"; }, "it comes from 203.0.113.9"},
      {"no address", [](HttpRequest& r) { r.peer = r.address = ""; }, "it comes from nowhere known"},
      {"a public name (rebound)", [](HttpRequest& r) { r.headers[0].second = "evil.example"; },
       "its Host is evil.example"},
      {"a name that only looks so", [](HttpRequest& r) { r.headers[0].second = "localhost.evil.example"; },
       "its Host is localhost.evil.example"},
      {"another one", [](HttpRequest& r) { r.headers[0].second = "127.0.0.1.evil.example"; }, "its Host is 127"},
      {"a private address", [](HttpRequest& r) { r.headers[0].second = "192.168.1.2:3334"; },
       "its Host is 192.168.1.2:3334, which is not a name of loopback"},
      {"all addresses", [](HttpRequest& r) { r.headers[0].second = "0.0.0.0:3334"; }, "its Host is 0.0.0.0:3334"},
      {"no Host", [](HttpRequest& r) { r.headers.clear(); }, "it has no Host"},
  };
  for (const auto& c : cases) {
    HttpRequest request = FromHere();
    c.change(request);
    EXPECT_EQ(Status(request), c.why == nullptr ? 0 : 403) << c.what;
    EXPECT_NE(Why(request).find(c.why == nullptr ? "" : c.why), std::string::npos) << c.what << ": " << Why(request);
  }
}

// What they send of themselves, with a socket from loopback.
TEST_F(LoopbackTest, ProgramsAreTrustedProxiesAndPagesAreNot) {
  const struct {
    const char* what;
    HttpRequest request;
    bool trusted;
  } cases[] = {
      {"curl", FromHereWith({{"host", "localhost:3334"}, {"user-agent", "curl/7.88.1"}, {"accept", "*/*"}}), true},
      {"curl that uploads",
       FromHereWith({{"host", "127.0.0.1:3334"},
                     {"user-agent", "curl/7.88.1"},
                     {"accept", "*/*"},
                     {"transfer-encoding", "chunked"},
                     {"expect", "100-continue"}}),
       true},
      {"wget", FromHereWith({{"host", "127.0.0.1:3334"}, {"user-agent", "Wget/1.21.3"}, {"connection", "Keep-Alive"}}),
       true},
      {"HAProxy, which leaves the Host",
       FromHereWith({{"host", "relay.example"}, {"user-agent", "Mozilla/5.0"}, {"accept", "*/*"}}), false},
      {"HAProxy with forwardfor",
       FromHereWith({{"host", "relay.example"}, {"user-agent", "curl"}, {"x-forwarded-for", "203.0.113.9"}}), false},
      {"nginx with the headers of its manual",
       FromHereWith({{"host", "127.0.0.1:3334"},
                     {"x-real-ip", "203.0.113.9"},
                     {"x-forwarded-for", "203.0.113.9"},
                     {"x-forwarded-proto", "https"}}),
       false},
      {"nginx with the scheme alone", FromHereWith({{"host", "localhost:3334"}, {"x-forwarded-proto", "https"}}),
       false},
      {"Apache's mod_proxy",
       FromHereWith({{"host", "localhost:3334"},
                     {"x-forwarded-for", "203.0.113.9"},
                     {"x-forwarded-host", "relay.example"},
                     {"x-forwarded-server", "relay.example"}}),
       false},
      {"Caddy that sets the Host",
       FromHereWith({{"host", "localhost:3334"},
                     {"x-forwarded-for", "203.0.113.9"},
                     {"x-forwarded-host", "relay.example"},
                     {"x-forwarded-proto", "https"},
                     {"accept-encoding", "gzip"}}),
       false},
      {"Varnish", FromHereWith({{"host", "127.0.0.1"}, {"via", "1.1 varnish"}, {"x-varnish", "32770"}}), false},
      {"what RFC 7239 asks for", FromHereWith({{"host", "localhost"}, {"forwarded", "for=203.0.113.9;proto=https"}}),
       false},
      {"a Cloudflare tunnel that sets the Host",
       FromHereWith({{"host", "localhost:3334"},
                     {"cdn-loop", "cloudflare"},
                     {"cf-connecting-ip", "203.0.113.9"},
                     {"cf-ipcountry", "NL"},
                     {"cf-ray", "8f0000000000-AMS"},
                     {"cf-visitor", "{\"scheme\":\"https\"}"}}),
       false},
      {"Akamai", FromHereWith({{"host", "localhost"}, {"true-client-ip", "203.0.113.9"}}), false},
      {"a header without a value", FromHereWith({{"host", "localhost"}, {"x-forwarded-for", ""}}), false},
      {"fetch by a page of the relay's own port",
       FromHereWith({{"host", "localhost:3334"},
                     {"user-agent", "Mozilla/5.0"},
                     {"referer", "http://localhost:3334/"},
                     {"sec-fetch-dest", "empty"},
                     {"sec-fetch-mode", "cors"},
                     {"sec-fetch-site", "same-origin"}}),
       false},
      {"an image in a page of elsewhere",
       FromHereWith({{"host", "127.0.0.1:3334"}, {"sec-fetch-dest", "image"}, {"sec-fetch-mode", "no-cors"}}), false},
      {"a form of elsewhere", FromHereWith({{"host", "127.0.0.1:3334"}, {"origin", "https://evil.example"}}), false},
      {"a form in a sandbox", FromHereWith({{"host", "127.0.0.1:3334"}, {"origin", "null"}}), false},
      {"a link, in a browser that has no Sec-Fetch",
       FromHereWith({{"host", "127.0.0.1:3334"}, {"referer", "https://evil.example/"}}), false},
  };
  for (const auto& c : cases) EXPECT_EQ(Status(c.request), c.trusted ? 0 : 403) << c.what << ": " << Why(c.request);
}

TEST_F(LoopbackTest, TheReasonNamesTheHeader) {
  HttpRequest request = FromHere();
  request.headers.emplace_back("x-forwarded-for", "203.0.113.9");
  EXPECT_NE(Why(request).find("it has x-forwarded-for: somebody else is behind it"), std::string::npos) << Why(request);
}

// nginx with nothing but proxy_pass, or stunnel with a client that lies about the Host: nothing in it tells.
TEST_F(LoopbackTest, WhereAProxyIsLikelyLoopbackIsNotTrusted) {
  const HttpRequest bare = FromHereWith({{"host", "127.0.0.1:3334"}, {"connection", "close"}});
  const struct {
    AdminFromLoopback setting;
    const char* url;
    const char* proxies;
    const char* why;  // null: trusted
  } cases[] = {
      {AdminFromLoopback::kAuto, "", "", nullptr},
      {AdminFromLoopback::kAuto, "ws://localhost:3334", "", nullptr},
      {AdminFromLoopback::kAuto, "ws://192.168.1.2:3334", "", nullptr},
      {AdminFromLoopback::kAuto, "wss://relay.example", "", "WEIR_RELAY_URL is a public name"},
      {AdminFromLoopback::kAuto, "", "127.0.0.1", "WEIR_TRUSTED_PROXIES is set"},
      {AdminFromLoopback::kAuto, "wss://relay.example", "10.0.0.0/8", "WEIR_TRUSTED_PROXIES is set"},
      {AdminFromLoopback::kTrue, "wss://relay.example", "127.0.0.1", nullptr},
      {AdminFromLoopback::kFalse, "", "", "WEIR_ADMIN_FROM_LOOPBACK=false"},
  };
  for (const auto& c : cases) {
    settings_.admin_from_loopback = c.setting;
    settings_.url = c.url;
    proxies_ = c.proxies;
    EXPECT_EQ(TrustInLoopback(settings_, proxies_).trusted, c.why == nullptr) << c.url << " " << c.proxies;
    EXPECT_EQ(Status(bare), c.why == nullptr ? 0 : 403) << c.url << " " << c.proxies;
    EXPECT_NE(Why(bare).find(c.why == nullptr ? "" : c.why), std::string::npos) << Why(bare);
  }
}

TEST_F(AdminTest, WhoeverHasTheTokenIsOneFromAnywhere) {
  token_ = std::string(60, 'a') + "0123";
  HttpRequest proxied = FromHere();
  proxied.headers.emplace_back("x-forwarded-for", "203.0.113.9");
  proxied.headers.emplace_back("authorization", "bearer " + token_);
  EXPECT_EQ(Status(proxied), 0);
  const struct {
    std::string authorization;
    int status;
  } cases[] = {
      {"Bearer " + token_, 0},
      {"Bearer " + std::string(60, 'a') + "0124", 401},
      {"Bearer " + std::string(60, 'A') + "0123", 401},
      {"Bearer " + token_ + "0", 401},
      {"Bearer " + token_.substr(1), 401},
      {"Bearer  " + token_, 401},
      {"Bearer ", 401},
      {"Bearer", 401},
      {token_, 401},
      {"Basic " + token_, 401},
      {"Nostr " + token_, 401},
  };
  for (const auto& c : cases) EXPECT_EQ(Status(FromElsewhere(c.authorization)), c.status) << c.authorization;
  EXPECT_EQ(Why(FromElsewhere("Bearer x")).find(token_), std::string::npos);
}

TEST_F(AdminTest, WithoutATokenNobodyHasIt) {
  for (const char* authorization : {"Bearer", "Bearer ", "Bearer 0"})
    EXPECT_EQ(Status(FromElsewhere(authorization)), 403) << authorization;
}

TEST_F(AdminTest, BeingHereIsNotEnoughWhereTheOperatorSaysSo) {
  settings_.admin_from_loopback = AdminFromLoopback::kFalse;
  EXPECT_EQ(Status(FromHere()), 401);
  HttpRequest proven = FromHere();
  proven.headers.emplace_back("authorization", Proof());
  EXPECT_EQ(Status(proven), 0);
}

TEST_F(AdminTest, WhoeverHasTheKeyIsOne) {
  EXPECT_EQ(Status(FromElsewhere(Proof())), 0);
  EXPECT_EQ(Status(FromElsewhere("nostr" + Proof().substr(5))), 0);
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
      {Proof(Tags(), kNow - 1), 401, "before the start of this relay"},
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

TEST_F(AdminTest, WithoutKeyAndTokenOnlyThisMachineCounts) {
  settings_.admin_pubkey = settings_.url = "";
  EXPECT_EQ(Status(FromHere()), 0);
  EXPECT_EQ(Status(FromElsewhere()), 403);
  EXPECT_EQ(Status(FromElsewhere(Proof())), 403);
}

TEST_F(AdminTest, AProofIsGoodOnce) {
  const Admin admin = MakeAdmin();
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

TEST_F(AdminTest, AProofOfBeforeARestartIsNotGoodAfterIt) {
  const HttpRequest asked = FromElsewhere(Proof());
  const Admin first = MakeAdmin();
  clock_.Advance(59);
  EXPECT_EQ(StatusOf(first, asked), 0);
  const Admin second = MakeAdmin();
  EXPECT_EQ(StatusOf(second, asked), 401);
  EXPECT_EQ(StatusOf(second, FromElsewhere(Proof(Tags(), kNow + 59))), 0);
}

TEST_F(AdminTest, AProofIsGoodForAMinute) {
  const Admin admin = MakeAdmin();
  clock_.Advance(60);
  EXPECT_EQ(StatusOf(admin, FromElsewhere(Proof())), 0);
  clock_.Advance(1);
  EXPECT_EQ(StatusOf(admin, FromElsewhere(Proof(Tags("https://relay.example/api/import"), kNow))), 401);
}

TEST_F(AdminTest, TheRefusalNamesTheWays) {
  token_ = "t";
  const auto refusal = MakeAdmin().Refusal(FromElsewhere());
  ASSERT_TRUE(refusal.has_value());
  const std::vector<std::pair<std::string, std::string>> expected = {{"WWW-Authenticate", "Bearer"},
                                                                     {"WWW-Authenticate", "Nostr"}};
  EXPECT_EQ(refusal->headers, expected);
  for (const char* way : {"Bearer <what is in admin.token", "loopback", "NIP-98"})
    EXPECT_NE(refusal->body.find(way), std::string::npos) << way;
}

class AdminTokenTest : public testing::Test {
 protected:
  AdminTokenTest() {
    std::string name = (fs::temp_directory_path() / "weir-token-XXXXXX").string();
    directory_ = mkdtemp(name.data());
    path_ = AdminTokenPath(directory_);
  }
  ~AdminTokenTest() override { fs::remove_all(directory_); }
  void Write(const std::string& text) const { std::ofstream(path_) << text; }

  std::string directory_;
  std::string path_;
};

TEST_F(AdminTokenTest, IsForItsOwnerAloneAndAnewEachTime) {
  const mode_t before = umask(0);
  Write("an old one that all may read");
  fs::permissions(path_, fs::perms(0666));
  const Result<std::string> first = MakeAdminToken(directory_);
  umask(before);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first.value().size(), 64U);
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms(0600));
  EXPECT_EQ(ReadAdminToken(directory_), first.value());
  const Result<std::string> second = MakeAdminToken(directory_);
  EXPECT_NE(second.value(), first.value());
  EXPECT_EQ(ReadAdminToken(directory_), second.value());
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1) << "nothing else is left";
}

TEST_F(AdminTokenTest, IsNotWrittenThroughALink) {
  const std::string elsewhere = directory_ + "/elsewhere";
  fs::create_symlink(elsewhere, path_ + ".new");
  EXPECT_TRUE(MakeAdminToken(directory_).ok());
  EXPECT_FALSE(fs::exists(elsewhere));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path_)));
}

TEST_F(AdminTokenTest, IsRemovedByItsOwnRelayOnly) {
  const std::string mine = MakeAdminToken(directory_).value();
  const std::string successor = MakeAdminToken(directory_).value();
  RemoveAdminToken(directory_, mine);
  RemoveAdminToken(directory_, "");
  EXPECT_EQ(ReadAdminToken(directory_), successor);
  RemoveAdminToken(directory_, successor);
  EXPECT_FALSE(fs::exists(path_));
  RemoveAdminToken(directory_, successor);
}

TEST_F(AdminTokenTest, WhatIsNoneIsNotRead) {
  EXPECT_EQ(ReadAdminToken(directory_), "");
  const std::string good(64, 'a');
  for (const std::string& bad : {std::string(), std::string("\n"), good.substr(1), good + "a", good.substr(1) + "A\n",
                                 good.substr(1) + "\n\n"}) {
    Write(bad);
    EXPECT_EQ(ReadAdminToken(directory_), "") << bad;
  }
  Write(good);
  EXPECT_EQ(ReadAdminToken(directory_), good);
}

TEST_F(AdminTokenTest, ThatItCannotBeWrittenIsSaid) {
  const std::string nowhere = directory_ + "/nowhere";
  const Result<std::string> token = MakeAdminToken(nowhere);
  ASSERT_FALSE(token.ok());
  EXPECT_EQ(token.status().message(), "cannot write " + nowhere + "/admin.token: No such file or directory");
}

}  // namespace
}  // namespace weir
