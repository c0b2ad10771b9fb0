// Clients that count as the administrator because they are on this machine.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "relay/protocol/relay_settings.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/admin/admin_fixture.h"

namespace weir {
namespace {

// A relay whose operator knows that only his own requests come from this machine.
class LoopbackTest : public AdminTest {
 protected:
  LoopbackTest() {
    key_ = url_ = "";
    trust_ = AdminFromLoopback::kTrue;
  }
  static HttpRequest FromHereWith(std::vector<std::pair<std::string, std::string>> headers) {
    HttpRequest request = FromHere();
    request.headers = std::move(headers);
    return request;
  }
};

TEST_F(LoopbackTest, RequestsFromThisMachineAreTheAdministrators) {
  EXPECT_EQ(Status(FromHere()), 0);
  const struct {
    const char* what;
    std::function<void(HttpRequest&)> change;
    const char* why;  // null: counts as the administrator
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
      {"no address", [](HttpRequest& r) { r.peer = r.address = ""; }, "it comes from an unknown address"},
      {"a public name (rebound)", [](HttpRequest& r) { r.headers[0].second = "evil.example"; },
       "its Host is evil.example"},
      {"a name that only looks so", [](HttpRequest& r) { r.headers[0].second = "localhost.evil.example"; },
       "its Host is localhost.evil.example"},
      {"another one", [](HttpRequest& r) { r.headers[0].second = "127.0.0.1.evil.example"; }, "its Host is 127"},
      {"a private address", [](HttpRequest& r) { r.headers[0].second = "192.168.1.2:3334"; },
       "its Host is 192.168.1.2:3334, which is not a name of loopback"},
      {"all addresses", [](HttpRequest& r) { r.headers[0].second = "0.0.0.0:3334"; }, "its Host is 0.0.0.0:3334"},
      {"no Host", [](HttpRequest& r) { r.headers.clear(); }, "it has no Host header"},
  };
  for (const auto& c : cases) {
    HttpRequest request = FromHere();
    c.change(request);
    EXPECT_EQ(Status(request), c.why == nullptr ? 0 : 403) << c.what;
    EXPECT_TRUE(Has(Why(request), c.why == nullptr ? "" : c.why)) << c.what << ": " << Why(request);
  }
}

// Requests as programs, proxies and pages send them by themselves, with a socket from loopback.
struct Client {
  const char* name;
  HttpRequest request;
};

TEST_F(LoopbackTest, ProgramsAreTrusted) {
  const Client clients[] = {
      {"curl", FromHereWith({{"host", "localhost:3334"}, {"user-agent", "curl/7.88.1"}, {"accept", "*/*"}})},
      {"curl that uploads", FromHereWith({{"host", "127.0.0.1:3334"},
                                          {"user-agent", "curl/7.88.1"},
                                          {"accept", "*/*"},
                                          {"transfer-encoding", "chunked"},
                                          {"expect", "100-continue"}})},
      {"wget", FromHereWith({{"host", "127.0.0.1:3334"}, {"user-agent", "Wget/1.21.3"}, {"connection", "Keep-Alive"}})},
  };
  for (const Client& c : clients) EXPECT_EQ(Status(c.request), 0) << c.name << ": " << Why(c.request);
}

TEST_F(LoopbackTest, ProxiesAreNotTrusted) {
  const Client clients[] = {
      {"HAProxy, which leaves the Host",
       FromHereWith({{"host", "relay.example"}, {"user-agent", "Mozilla/5.0"}, {"accept", "*/*"}})},
      {"HAProxy with forwardfor",
       FromHereWith({{"host", "relay.example"}, {"user-agent", "curl"}, {"x-forwarded-for", "203.0.113.9"}})},
      {"nginx with the headers of its manual", FromHereWith({{"host", "127.0.0.1:3334"},
                                                             {"x-real-ip", "203.0.113.9"},
                                                             {"x-forwarded-for", "203.0.113.9"},
                                                             {"x-forwarded-proto", "https"}})},
      {"nginx with the scheme alone", FromHereWith({{"host", "localhost:3334"}, {"x-forwarded-proto", "https"}})},
      {"Apache's mod_proxy", FromHereWith({{"host", "localhost:3334"},
                                           {"x-forwarded-for", "203.0.113.9"},
                                           {"x-forwarded-host", "relay.example"},
                                           {"x-forwarded-server", "relay.example"}})},
      {"Caddy that sets the Host", FromHereWith({{"host", "localhost:3334"},
                                                 {"x-forwarded-for", "203.0.113.9"},
                                                 {"x-forwarded-host", "relay.example"},
                                                 {"x-forwarded-proto", "https"},
                                                 {"accept-encoding", "gzip"}})},
      {"Varnish", FromHereWith({{"host", "127.0.0.1"}, {"via", "1.1 varnish"}, {"x-varnish", "32770"}})},
      {"what RFC 7239 asks for", FromHereWith({{"host", "localhost"}, {"forwarded", "for=203.0.113.9;proto=https"}})},
      {"a Cloudflare tunnel that sets the Host", FromHereWith({{"host", "localhost:3334"},
                                                               {"cdn-loop", "cloudflare"},
                                                               {"cf-connecting-ip", "203.0.113.9"},
                                                               {"cf-ipcountry", "NL"},
                                                               {"cf-ray", "8f0000000000-AMS"},
                                                               {"cf-visitor", "{\"scheme\":\"https\"}"}})},
      {"Akamai", FromHereWith({{"host", "localhost"}, {"true-client-ip", "203.0.113.9"}})},
      {"a header without a value", FromHereWith({{"host", "localhost"}, {"x-forwarded-for", ""}})},
  };
  for (const Client& c : clients) EXPECT_EQ(Status(c.request), 403) << c.name;
}

TEST_F(LoopbackTest, PagesAreNotTrusted) {
  const Client clients[] = {
      {"fetch by a page of the relay's own port", FromHereWith({{"host", "localhost:3334"},
                                                                {"user-agent", "Mozilla/5.0"},
                                                                {"referer", "http://localhost:3334/"},
                                                                {"sec-fetch-dest", "empty"},
                                                                {"sec-fetch-mode", "cors"},
                                                                {"sec-fetch-site", "same-origin"}})},
      {"an image in a page of elsewhere",
       FromHereWith({{"host", "127.0.0.1:3334"}, {"sec-fetch-dest", "image"}, {"sec-fetch-mode", "no-cors"}})},
      {"a form of elsewhere", FromHereWith({{"host", "127.0.0.1:3334"}, {"origin", "https://evil.example"}})},
      {"a form in a sandbox", FromHereWith({{"host", "127.0.0.1:3334"}, {"origin", "null"}})},
      {"a link, in a browser that has no Sec-Fetch",
       FromHereWith({{"host", "127.0.0.1:3334"}, {"referer", "https://evil.example/"}})},
  };
  for (const Client& c : clients) EXPECT_EQ(Status(c.request), 403) << c.name;
}

TEST_F(LoopbackTest, TheReasonNamesTheHeader) {
  HttpRequest request = FromHere();
  request.headers.emplace_back("x-forwarded-for", "203.0.113.9");
  EXPECT_TRUE(Has(Why(request),
                  "its header x-forwarded-for shows that it comes from a web page or through a "
                  "proxy"))
      << Why(request);
}

// Behind ssh -R, Tor, stunnel, HAProxy in tcp mode, nginx with nothing but proxy_pass, a stranger's text comes
// unchanged.
TEST_F(LoopbackTest, LoopbackAloneIsNotEnoughUnlessTheOperatorSaysSo) {
  EXPECT_EQ(RelaySettings().admin_from_loopback, AdminFromLoopback::kFalse);
  const struct {
    AdminFromLoopback setting;
    const char* why;  // null: trusted
  } cases[] = {
      {AdminFromLoopback::kFalse, "WEIR_ADMIN_FROM_LOOPBACK=false"},
      {AdminFromLoopback::kTrue, nullptr},
      {AdminFromLoopback::kAuto, "WEIR_ADMIN_FROM_LOOPBACK=auto means false"},
  };
  token_.assign(64, 'a');
  for (const auto& c : cases) {
    trust_ = c.setting;
    for (const char* host : {"localhost", "127.0.0.1:3334"}) {
      const HttpRequest bare = FromHereWith({{"host", host}, {"connection", "close"}});
      EXPECT_EQ(Status(bare), c.why == nullptr ? 0 : 401) << host;
      EXPECT_TRUE(Has(Why(bare), c.why == nullptr ? "" : c.why)) << Why(bare);
      EXPECT_EQ(Status(FromHereWith({{"host", host}, {"authorization", "Bearer " + token_}})), 0);
    }
  }
}

}  // namespace
}  // namespace weir
