// /live on the port of a relay, as browsers and programs use it.
#include "relay/watch/live/live_plugin.h"

#include <gtest/gtest.h>
#include <simdjson.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "relay/admin/admin.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/raw_client.h"
#include "tests/fixtures/web_client.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

using std::chrono::seconds;

class LivePluginTest : public RelayServerTest {
 protected:
  LivePluginTest() {
    configuration_.relay.name = "a <b>\"relay\"";
    Open();
  }
  ~LivePluginTest() override { relay_.reset(); }

  void Open() {
    relay_.reset();
    plugin_ = std::make_unique<LivePlugin>();
    RelayServerTest::Open({plugin_.get()});
  }
  std::string Token() const { return ReadAdminToken(directory_ / "data"); }

  std::string Head(const std::string& line, const std::string& more) const {
    return line + " HTTP/1.1\r\nHost: " + Host() + "\r\n" + more + "\r\n";
  }
  std::string Host() const { return "127.0.0.1:" + std::to_string(relay_->port()); }
  RawAnswer Ask(const std::string& line, const std::string& more = "") const {
    RawClient client(relay_->port());
    client.Send(Head(line, more));
    return client.Answer();
  }
  RawAnswer Post(const std::string& path, const std::string& body, const std::string& more = "") const {
    RawClient client(relay_->port());
    client.Send(Head("POST " + path, more + "Content-Length: " + std::to_string(body.size()) + "\r\n") + body);
    return client.Answer();
  }
  std::string Bearer() const { return "Authorization: Bearer " + Token() + "\r\n"; }
  // Shows the token, and returns "Cookie: weir_live_3334=…\r\n".
  std::string SignIn() const {
    RawClient client(relay_->port());
    const std::string body = "token=" + Token();
    client.Send(
        Head("POST /live/session", "Connection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n") +
        body);
    const std::string answer = client.ReadToEnd();
    const size_t begin = answer.find("weir_live_");
    return begin == answer.npos ? "" : "Cookie: " + answer.substr(begin, answer.find(';', begin) - begin) + "\r\n";
  }

  const std::string page_ = "Accept: text/html,application/xhtml+xml\r\n";  // a browser asks for one

 private:
  std::unique_ptr<LivePlugin> plugin_;
};

TEST_F(LivePluginTest, IsForAdministratorsAlone) {
  for (const char* path : {"/live", "/live/moderation", "/live/state", "/live/events", "/live/session"})
    EXPECT_EQ(Ask(std::string("GET ") + path).status, 401) << path;
  EXPECT_EQ(Post("/live/settings", "IMPORT_SETPOINT=0.5").status, 401);
  EXPECT_EQ(Ask("GET /live", Bearer()).status, 200);
  EXPECT_EQ(Ask("GET /live/state", Bearer()).status, 200);
  EXPECT_EQ(Ask("GET /live/session", Bearer()).status, 204);
  EXPECT_EQ(Ask("GET /live", "Authorization: Bearer wrong\r\n").status, 401);
}

TEST_F(LivePluginTest, ABrowserIsAskedForTheTokenAndThenShownThePage) {
  const RawAnswer form = Ask("GET /live", page_);
  EXPECT_EQ(form.status, 401);
  EXPECT_TRUE(Has(form.body, "<form"));
  EXPECT_FALSE(Has(form.body, "<script"));
  EXPECT_TRUE(Has(form.body, "a &lt;b&gt;&quot;relay&quot;")) << "the name is text";

  const std::string cookie = SignIn();
  ASSERT_NE(cookie, "");
  EXPECT_FALSE(Has(cookie, Token())) << "it does not tell the token";
  const RawAnswer page = Ask("GET /live", page_ + cookie);
  EXPECT_EQ(page.status, 200);
  EXPECT_TRUE(Has(page.body, "data-table=\"signals\"")) << "the tables are there without a script";
  EXPECT_TRUE(Has(page.body, "http-equiv=\"refresh\""));
  EXPECT_FALSE(Has(Ask("GET /live?still", page_ + cookie).body, "http-equiv=\"refresh\""));
  EXPECT_TRUE(Has(page.body, "name=\"IMPORT_SETPOINT\""));
  EXPECT_FALSE(Has(page.body, "<b>"));
  EXPECT_FALSE(Has(page.body, "{")) << "no word was left";
  EXPECT_EQ(Ask("GET /live/session", cookie).status, 204);
  EXPECT_EQ(Ask("GET /api/import", cookie).status, 404) << "it is good for these pages";
}

TEST_F(LivePluginTest, ThePageLoadsNothingFromOtherSites) {
  const RawAnswer page = Ask("GET /live", page_ + SignIn());
  EXPECT_EQ(page.headers.at("content-security-policy").find("default-src 'none'"), 0U);
  EXPECT_EQ(page.headers.at("cache-control"), "no-store");
  EXPECT_FALSE(Has(page.body, "//")) << "no address of another place";
  EXPECT_FALSE(Has(page.body, "<script>"));
  EXPECT_FALSE(Has(page.body, " style="));
  for (size_t at = page.body.find("\"/live/live."); at != page.body.npos;
       at = page.body.find("\"/live/live.", at + 1)) {
    const std::string path = page.body.substr(at + 1, page.body.find('"', at + 1) - at - 1);
    const RawAnswer file = Ask("GET " + path);
    EXPECT_EQ(file.status, 200) << path << ": anybody may have it";
    EXPECT_TRUE(Has(file.headers.at("cache-control"), "immutable"));
  }
}

TEST_F(LivePluginTest, TheCookieIsForTheseRoutesAndForNoScript) {
  RawClient client(relay_->port());
  const std::string body = "user=x&token=" + Token();
  client.Send(Head("POST /live/session", "Connection: close\r\nX-Forwarded-Proto: https\r\nContent-Length: " +
                                             std::to_string(body.size()) + "\r\n") +
              body);
  const std::string answer = client.ReadToEnd();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 303")) << answer;
  EXPECT_TRUE(Has(answer, "Location: /live\r\n"));
  const size_t at = answer.find("Set-Cookie: weir_live_" + std::to_string(relay_->port()) + "=");
  const std::string cookie = answer.substr(at, answer.find("\r\n", at) - at);
  EXPECT_TRUE(Has(answer, "; Path=/api/moderation; HttpOnly; Secure\r\n")) << "for the calls of /live/moderation";
  for (const char* part : {"; Path=/live;", "; HttpOnly", "; SameSite=Strict", "; Secure", "; Max-Age=604800"})
    EXPECT_TRUE(Has(cookie + ";", part)) << part << " in " << cookie;
  EXPECT_TRUE(Has(answer, "Set-Cookie: weir_operator_" + std::to_string(relay_->port()) +
                              "=1; SameSite=Strict; Max-Age=604800; Path=/; Secure\r\n"))
      << answer;
}

TEST_F(LivePluginTest, ThePageForModerationIsStaticAndLoadsItsScript) {
  const RawAnswer page = Ask("GET /live/moderation", page_ + SignIn());
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.at("content-security-policy").find("default-src 'none'"), 0U);
  EXPECT_TRUE(Has(page.body, "a &lt;b&gt;&quot;relay&quot;"));
  EXPECT_TRUE(Has(page.body, "<noscript><p class=\"card\">This page needs JavaScript."));
  EXPECT_FALSE(Has(page.body, "{")) << "no word was left";
  EXPECT_FALSE(Has(page.body, "<script>"));
  EXPECT_FALSE(Has(page.body, " style="));
  const size_t at = page.body.find("/live/moderation.js?v=");
  ASSERT_NE(at, page.body.npos);
  EXPECT_EQ(Ask("GET " + page.body.substr(at, page.body.find('"', at) - at)).status, 200);
  EXPECT_TRUE(Has(Ask("GET /live", page_ + SignIn()).body, "href=\"/live/moderation\""));
}

TEST_F(LivePluginTest, ABrowserThatSignsInGoesOnToItsPage) {
  const auto goes_to = [this](const std::string& page) {
    return Post("/live/session", "page=" + page + "&token=" + Token()).headers.at("location");
  };
  EXPECT_EQ(goes_to("/live/moderation"), "/live/moderation");
  EXPECT_EQ(goes_to("/live"), "/live");
  EXPECT_EQ(goes_to("//evil.example"), "/live");
  const RawAnswer form = Ask("GET /live/moderation", page_);
  EXPECT_EQ(form.status, 401);
  EXPECT_TRUE(Has(form.body, "name=\"page\" value=\"/live/moderation\""));
  EXPECT_TRUE(Has(Post("/live/session", "page=/live/moderation&token=wrong").body, "value=\"/live/moderation\""));
}

TEST_F(LivePluginTest, TheLandingPageLinksToItForOperators) {
  EXPECT_FALSE(Has(Ask("GET /", page_).body, "href=\"/live\""));
  EXPECT_TRUE(Has(Ask("GET /", page_ + "Cookie: a=b; weir_operator_" + std::to_string(relay_->port()) + "=1\r\n").body,
                  "href=\"/live\""));
}

TEST_F(LivePluginTest, ATokenThatIsRotatedEndsTheSession) {
  const std::string cookie = SignIn();
  EXPECT_EQ(Ask("GET /live/session", cookie).status, 204);
  Open();
  EXPECT_EQ(Ask("GET /live/session", cookie).status, 401);
  EXPECT_EQ(Ask("GET /live", page_ + cookie).status, 401);
  EXPECT_EQ(Ask("GET /live/session", SignIn()).status, 204);
}

TEST_F(LivePluginTest, SigningOutEndsTheSessionOnTheRelayToo) {
  const std::string cookie = SignIn();
  EXPECT_EQ(Post("/live/sign-out", "", cookie).status, 303);
  EXPECT_EQ(Ask("GET /live/session", cookie).status, 401);
}

TEST_F(LivePluginTest, WrongTokensAreCountedAndTheRightOneNeverWaits) {
  for (int i = 0; i < SignInLimit::kAtOnce; ++i) {
    const RawAnswer answer = Post("/live/session", "token=wrong");
    EXPECT_EQ(answer.status, 401);
    EXPECT_TRUE(Has(answer.body, "wrong token"));
    EXPECT_FALSE(answer.headers.contains("set-cookie"));
  }
  const RawAnswer answer = Post("/live/session", "token=wrong");
  EXPECT_EQ(answer.status, 429);
  EXPECT_GE(std::stoi(answer.headers.at("retry-after")), 1);
  EXPECT_EQ(Post("/live/session", "token=" + Token()).status, 303) << "nobody locks an administrator out";
}

TEST_F(LivePluginTest, WrongTokensOfAnIpv6NetworkCountForOneClient) {
  configuration_.server.trusted_proxies = "127.0.0.1";
  Open();
  const auto guess = [this](const std::string& address) {
    return Post("/live/session", "token=wrong", "X-Forwarded-For: " + address + "\r\n").status;
  };
  for (int i = 0; i < SignInLimit::kAtOnce; ++i) EXPECT_EQ(guess("2001:db8::" + std::to_string(i)), 401);
  EXPECT_EQ(guess("2001:db8::ffff"), 429);
  EXPECT_EQ(guess("2001:db8:0:1::1"), 401);
}

TEST_F(LivePluginTest, RefusesMalformedForms) {
  EXPECT_EQ(Post("/live/session", "").status, 400);
  EXPECT_EQ(Post("/live/session", "token=%zz").status, 400);
  EXPECT_EQ(Post("/live/session", std::string(5000, 'x')).status, 400);
  EXPECT_EQ(Post("/live/session", "token=" + Token() + "&more=" + std::string(4096, 'x')).status, 400)
      << "it is too long, whatever it holds";
  EXPECT_EQ(Post("/live/settings", "", Bearer()).status, 400);
  const RawAnswer long_form = Post("/live/settings", std::string(5000, 'x'), Bearer());
  EXPECT_EQ(long_form.status, 400);
  EXPECT_TRUE(Has(long_form.body, "more than 4096 bytes")) << long_form.body;
  EXPECT_EQ(Ask("GET /live/settings", Bearer()).status, 405);
}

TEST_F(LivePluginTest, APageOfAnotherSiteChangesNothing) {
  const std::string cookie = SignIn();
  const std::string here = "Origin: http://" + Host() + "\r\n";
  for (const char* from : {"Origin: http://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"}) {
    EXPECT_EQ(Post("/live/settings", "IMPORT_SETPOINT=0.5", cookie + from).status, 403) << from;
    EXPECT_EQ(Post("/live/session", "token=" + Token(), from).status, 403) << from;
    EXPECT_EQ(Post("/live/sign-out", "", from).status, 403) << from;
  }
  EXPECT_EQ(Post("/live/settings", "IMPORT_SETPOINT=0.5", cookie + here).status, 200);
  EXPECT_EQ(Post("/live/settings", "IMPORT_SETPOINT=0.5",
                 cookie + "Origin: https://relay.example\r\nSec-Fetch-Site: same-origin\r\n")
                .status,
            200)
      << "behind a proxy that changes the Host the browser says so";
}

TEST_F(LivePluginTest, AChangeHoldsAndIsMarkedWithItsAuthor) {
  const RawAnswer changed = Post("/live/settings", "IMPORT_SETPOINT=0.5&IMPORT_WRITE_KP=0.9", Bearer());
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(changed.body, "IMPORT_SETPOINT 0.7 → 0.5\nIMPORT_WRITE_KP 0.5 → 0.9\n");
  const std::string state = Ask("GET /live/state", Bearer()).body;
  for (const char* part :
       {"\"IMPORT_SETPOINT\":\"0.5\"", "\"changed\":{\"IMPORT_SETPOINT\":\"0.7\",\"IMPORT_WRITE_KP\":\"0.5\"}",
        "\"kind\":\"setting\",\"text\":\"IMPORT_SETPOINT 0.7 → 0.5\",\"who\":\"127.0.0.1, by the token\"",
        "\"text\":\"IMPORT_WRITE_KP 0.5 → 0.9\""})
    EXPECT_TRUE(Has(state, part)) << part << " in " << state;
  EXPECT_TRUE(Has(Ask("GET /live", page_ + Bearer()).body, "WEIR_IMPORT_SETPOINT=0.5\n")) << "says how to keep it";
  const std::string metrics = Ask("GET /metrics").body;
  EXPECT_TRUE(Has(metrics, "weir_live_listeners 0"));
  Open();
  EXPECT_TRUE(Has(Ask("GET /live/state", Bearer()).body, "\"changed\":{}")) << "gone after a restart";
}

TEST_F(LivePluginTest, AChangeIsWrittenToTheLogWhateverItsLevel) {
  const auto before = spdlog::default_logger();
  std::ostringstream log;
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  EXPECT_EQ(Post("/live/settings", "LOG_LEVEL=error&IMPORT_SETPOINT=0.5", Bearer()).status, 200);
  relay_.reset();  // no thread logs any more
  spdlog::set_default_logger(before);
  EXPECT_TRUE(Has(log.str(), "live: IMPORT_SETPOINT 0.7 → 0.5 by 127.0.0.1, known by the token, until the next start"))
      << log.str();
}

TEST_F(LivePluginTest, AFormThatWasOpenTakesNothingBackThatItDidNotChange) {
  EXPECT_EQ(Post("/live/settings", "IMPORT_SETPOINT=0.5", Bearer()).status, 200);
  const RawAnswer changed =
      Post("/live/settings",
           "IMPORT_SETPOINT=0.7&was%3AIMPORT_SETPOINT=0.7&IMPORT_WRITE_KP=0.9&was%3AIMPORT_WRITE_KP=0.5", Bearer());
  EXPECT_EQ(changed.body, "IMPORT_WRITE_KP 0.5 → 0.9\n");
  EXPECT_EQ(Post("/live/settings", "IMPORT_SETPOINT=0.7&was%3AIMPORT_SETPOINT=0.7", Bearer()).body,
            "no setting was changed\n");
  const std::string page = Ask("GET /live", page_ + Bearer()).body;
  EXPECT_TRUE(Has(page, "name=\"was:IMPORT_SETPOINT\" value=\"0.5\"")) << "as it is at once";
}

TEST_F(LivePluginTest, AWrongChangeIsRefusedWholeAndSaysWhy) {
  const RawAnswer wrong = Post("/live/settings", "IMPORT_WRITE_KP=0.9&IMPORT_SETPOINT=7", Bearer());
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.body,
            "{\"error\":{\"code\":\"invalid_request\",\"message\":"
            "\"WEIR_IMPORT_SETPOINT=7: not within 0.05..1 (level); No setting was changed.\"}}\n");
  EXPECT_TRUE(Has(Ask("GET /live/state", Bearer()).body, "\"IMPORT_WRITE_KP\":\"0.5\""));
  EXPECT_EQ(Post("/live/settings", "IMPORT_WRITE_KP=0.9", page_ + SignIn()).status, 303) << "to a form, the page again";
}

TEST_F(LivePluginTest, ShowsTheHeaviestClients) {
  WebClient client(relay_->port());
  client.Send(R"(["REQ","r",{"kinds":[1]}])");
  EXPECT_EQ(client.Read(), R"(["EOSE","r"])");
  simdjson::dom::parser parser;
  simdjson::dom::element state;
  // A task's time is counted when it has ended, a moment after its answer.
  ASSERT_TRUE(Eventually([&] {
    const std::string body = Ask("GET /live/state", Bearer()).body;
    state = parser.parse(body);
    return body.find("\"name\":\"connections\"") != body.npos;
  }));
  std::string names;
  for (const simdjson::dom::element table : simdjson::dom::array(state["tables"])) {
    const std::string name{std::string_view(table["name"])};
    names += name + " ";
    if (name == "clients") {
      EXPECT_EQ(std::string_view(table.at_pointer("/rows/0/0")), "127.0.0.1");
      EXPECT_GE(std::stoi(std::string(std::string_view(table.at_pointer("/rows/0/3")))), 1) << "connections";
    }
    if (name == "connections") {
      EXPECT_EQ(std::string_view(table.at_pointer("/rows/0/1")), "127.0.0.1");
    }
  }
  EXPECT_EQ(names, "signals controllers latencies memory engine levels clients connections kinds refusals marks ")
      << "as FEED.md has them";
}

TEST_F(LivePluginTest, EventsComeUntilTheRelayStops) {
  RawClient client(relay_->port());
  client.Send(Head("GET /live/events", SignIn()));
  const RawAnswer head = client.Answer(false);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-type"), "text/event-stream");
  EXPECT_EQ(head.headers.at("x-accel-buffering"), "no");
  EXPECT_EQ(client.ReadChunk(), "retry: 1000\n\n");
  EXPECT_TRUE(client.ReadChunk().value_or("").starts_with("event: state\n"));
  EXPECT_TRUE(client.ReadChunk().value_or("").starts_with("event: tick\n"));
  EXPECT_TRUE(Eventually([&] { return Ask("GET /metrics").body.find("weir_live_listeners 1") != std::string::npos; }));
  relay_->Shutdown(seconds(10));
  EXPECT_TRUE(client.ReadChunks()) << "the end is one in order";
}

TEST_F(LivePluginTest, OneMoreThanMayListenIsToldToComeBack) {
  std::vector<RawClient> listeners;
  for (size_t i = 0; i < LiveFeed::kMostListeners; ++i) {
    listeners.emplace_back(relay_->port());
    listeners.back().Send(Head("GET /live/events", Bearer()));
    ASSERT_EQ(listeners.back().Answer(false).status, 200) << i;
  }
  const RawAnswer refused = Ask("GET /live/events", Bearer());
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_EQ(Ask("HEAD /live/events", Bearer()).status, 200);
}

}  // namespace
}  // namespace weir
