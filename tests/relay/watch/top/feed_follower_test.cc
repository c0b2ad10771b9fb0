// Following a relay, and servers that are no relays.
#include "relay/watch/top/feed_follower.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/fixtures/certificates.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/server_port.h"
#include "tests/fixtures/silent_port.h"
#include "tests/relay/watch/top/live_relay.h"
#include "tests/relay/watch/top/scripted_server.h"
#include "tests/relay/watch/top/told_state.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using Link = Watched::Link;

// Times that a test waits for: as short as a busy machine allows.
constexpr FeedFollower::Times kSoon{.silence = milliseconds(500), .again = milliseconds(20)};

FeedFollower::Parts At(const std::string& url, FeedFollower::Times times = kSoon) {
  return {.find = [url] { return FindAttachment({}, {.url = url, .admin_token = "token"}); }, .times = times};
}

class FollowsARelay : public LiveRelayTest {
 protected:
  FollowsARelay() : LiveRelayTest("Quiet Harbour") {}
  FeedFollower::Parts Parts() {
    return {.find = [this] { return FindAttachment(configuration_, {}); },
            .times = {.silence = std::chrono::seconds(30), .again = milliseconds(20)}};
  }
};

TEST_F(FollowsARelay, ByItsDataDirectoryAlone) {
  FeedFollower follower(Parts());
  const Status begun = follower.Begin();
  ASSERT_TRUE(begun.ok()) << begun.message();
  const double first = follower.Now().state.now.at;
  EXPECT_EQ(follower.Now().state.name, "Quiet Harbour");
  EXPECT_GT(follower.Now().history.size(), 0U);
  EXPECT_NE(follower.Now().state.Find("signals"), nullptr);
  follower.Start();
  EXPECT_TRUE(Eventually([&] { return follower.Now().state.now.at > first + 1; }));
  EXPECT_EQ(follower.Now().link, Link::kLive);
}

TEST_F(FollowsARelay, ThatIsStartedAgainWithAnotherToken) {
  FeedFollower follower(Parts());
  ASSERT_TRUE(follower.Begin().ok());
  const uint64_t run = follower.Now().state.run;
  follower.Start();
  Close();
  EXPECT_TRUE(Eventually([&] { return follower.Now().link == Link::kLost; }));
  Open();
  EXPECT_TRUE(Eventually([&] { return follower.Now().link == Link::kLive && follower.Now().state.run != run; }));
  EXPECT_GE(follower.Now().history.size(), 2U) << "what was known before is kept";
}

TEST_F(FollowsARelay, ByTlsWithAGoodCertificateOrOnItsOwnMachine) {
  Close();
  MakeCertificates(directory_.path());
  configuration_.server.tls = {.certificate = directory_ / "server.crt", .key = directory_ / "server.key"};
  Open();
  FeedFollower own(Parts());
  const Status begun = own.Begin();
  EXPECT_TRUE(begun.ok()) << begun.message();
  own.Start();
  const double first = own.Now().state.now.at;
  EXPECT_TRUE(Eventually([&] { return own.Now().state.now.at > first; })) << "its events too";

  FeedFollower by_url({.find =
                           [this] {
                             return FindAttachment(configuration_, {.url = "https://127.0.0.1:" +
                                                                           std::to_string(configuration_.server.port)});
                           },
                       .times = {.silence = std::chrono::seconds(30)}});
  EXPECT_TRUE(Has(by_url.Begin().message(), "its certificate is refused")) << "nobody vouches for it";
}

TEST_F(FollowsARelay, AWrongTokenIsRefusedWithWhatToDo) {
  WriteText(directory_ / "token", "wrong\n");
  FeedFollower follower({.find =
                             [this] {
                               return FindAttachment(configuration_, {.url = "http://127.0.0.1:" +
                                                                             std::to_string(configuration_.server.port),
                                                                      .token_file = directory_ / "token"});
                             },
                         .times = {.silence = std::chrono::seconds(30)}});
  const Status status = follower.Begin();
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(Has(status.message(), " answers 401. ")) << status.message();
  EXPECT_TRUE(Has(status.message(), "The token is that of " + directory_ / "token"));
}

TEST(FeedFollower, SaysThatTheConnectionWasRefused) {
  const SilentPort silent;
  FeedFollower follower(At("http://127.0.0.1:" + std::to_string(silent.port()), {.silence = std::chrono::seconds(30)}));
  EXPECT_TRUE(Has(follower.Begin().message(), "Connection refused"));
}

TEST(FeedFollower, RefusesAServerThatIsNoRelay) {
  struct Case {
    std::string answer;
    std::string words;
  };
  const std::string chunked = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  const Case cases[] = {
      {ScriptedServer::Whole("text/html", "<html>"), "is not a weir relay (text/html)"},
      {ScriptedServer::Whole("text/plain", "", "302 Found\r\nLocation: https://elsewhere/"),
       "302 and redirects to https://elsewhere/;"},
      {ScriptedServer::Whole("text/plain", "no\n", "404 Not Found"), "it has no /live"},
      {ScriptedServer::Whole("text/plain", "full\nof it", "503 Service Unavailable"), "answers 503: full"},
      {ScriptedServer::Whole("application/json", "{\"format\":2}"), "format 2"},
      {ScriptedServer::Whole("application/json", std::string(3 << 20, ' ')), "is larger than"},
      {"no HTTP\r\n\r\n", "no HTTP answer"},
      {chunked + "1;" + std::string(1 << 20, 'x'), "is larger than"},
      {chunked + "0\r\nTrailer: " + std::string(1 << 20, 'x'), "is larger than"},
  };
  for (const Case& one : cases) {
    ScriptedServer server([&](const std::string&, const ScriptedServer::Send& send) { send(one.answer); });
    FeedFollower follower(At(server.url(), {.silence = std::chrono::seconds(30)}));
    const Status status = follower.Begin();
    EXPECT_TRUE(Has(status.message(), one.words)) << status.message();
  }
}

TEST(FeedFollower, WithoutADescriptorItSaysSo) {
  const std::string url = "http://127.0.0.1:" + std::to_string(FreeServerPort());
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const Status status = FeedFollower(At(url, {.silence = std::chrono::seconds(30)})).Begin();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(Has(status.message(), "Too many open files")) << status.message();
}

// Expects a follower to give up a stream that goes on as `goes_on` makes it.
void GivesUp(const std::function<void(const ScriptedServer::Send& send)>& goes_on, const std::string& words) {
  ScriptedServer server([&](const std::string& head, const ScriptedServer::Send& send) {
    if (!head.starts_with("GET /live/events")) return (void)send(ScriptedServer::Whole("text/plain", "x", "500 No"));
    send(ScriptedServer::StreamHead() + "event: state\ndata: " + ToldState().Json(true) + "\n\n");
    goes_on(send);
  });
  FeedFollower follower(At(server.url()));
  follower.Start();
  EXPECT_TRUE(Eventually([&] {
    const Watched watched = follower.Now();
    return watched.link == Link::kLost && watched.state.name == "Quiet Harbour" &&
           watched.problem.find(words) != std::string::npos;
  })) << follower.Now().problem;
}

TEST(FeedFollower, SilenceIsAnEnd) {
  GivesUp([](const ScriptedServer::Send& send) { ScriptedServer::KeepOpen(send); }, "no answer from");
}

TEST(FeedFollower, CrumbsAndCommentsAreSilenceToo) {
  GivesUp([](const ScriptedServer::Send& send) { ScriptedServer::KeepOpen(send, ": still here\n"); }, "");
}

TEST(FeedFollower, AnEventWithoutEndIsRefused) {
  GivesUp(
      [](const ScriptedServer::Send& send) {
        send("data: ");
        while (send(std::string(4096, 'x'))) continue;
      },
      "more than 1048576 bytes");
}

// Some proxies pass the first event on, with the head, and hold the rest.
TEST(FeedFollower, PollsIfOnlyOneEventComes) {
  ScriptedServer server([](const std::string& head, const ScriptedServer::Send& send) {
    const std::string json = ToldState().Json(true);
    if (!head.starts_with("GET /live/events")) return (void)send(ScriptedServer::Whole("application/json", json));
    send(ScriptedServer::StreamHead() + "event: state\ndata: " + json + "\n\n");
    ScriptedServer::KeepOpen(send);
  });
  FeedFollower follower(At(server.url()));
  follower.Start();
  EXPECT_TRUE(Eventually([&] { return follower.Now().link == Link::kPolled; }));
}

TEST(FeedFollower, PollsIfEventsAreHeldBack) {
  ScriptedServer server([&](const std::string& head, const ScriptedServer::Send& send) {
    if (head.starts_with("GET /live/state")) {
      send(ScriptedServer::Whole("application/json", ToldState().Json(true)));
      return;
    }
    ScriptedServer::KeepOpen(send);
  });
  FeedFollower follower(At(server.url(), {.silence = milliseconds(100), .again = milliseconds(1)}));
  follower.Start();
  EXPECT_TRUE(Eventually([&] { return follower.Now().link == Link::kPolled; }));
  EXPECT_EQ(follower.Now().state.name, "Quiet Harbour");
  // It also tries again whether events come.
  const auto followed = [&] {
    const auto asked = server.asked();
    return std::ranges::count(asked, "GET /live/events");
  };
  const auto before = followed();
  EXPECT_TRUE(Eventually([&] { return followed() > before; }));
}

}  // namespace
}  // namespace weir
