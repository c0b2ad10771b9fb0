// HTTP/2: windows, what may wait, which clients leave, and how a connection ends.
#include <atomic>
#include <future>
#include <thread>

#include "tests/fixtures/failing_memory.h"
#include "tests/relay/net/http2_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr auto kShort = std::chrono::seconds(4);  // long enough for a thread that has to wait for the processor

TEST_F(Http2Test, NoMoreOfAnAnswerGoesThanTheWindowTakes) {
  settings_.handshake_timeout = minutes(5);
  Start();
  Http2Peer peer = Peer({.stream_window = 1000, .takes_all = false});
  const int32_t big = peer.Ask("GET", "/big?5000");
  const int32_t small = peer.Ask("GET", "/");
  EXPECT_EQ(peer.Await(small).body, "landing") << "one that waits does not hold up the others";
  EXPECT_EQ(peer.SoFar(big).body.size(), 1000U);
  EXPECT_TRUE(Eventually([&] { return server_->Stats().pending_bytes == 4000; }));
  nghttp2_submit_window_update(peer.session(), NGHTTP2_FLAG_NONE, big, 4000);
  EXPECT_EQ(peer.Await(big).body.size(), 5000U);
  EXPECT_TRUE(Eventually([&] { return server_->Stats().pending_bytes == 0; }));
}

TEST_F(Http2Test, AClientThatOpensNoWindowIsLetGo) {
  settings_.handshake_timeout = kShort;
  Start();
  Http2Peer peer = Peer({.stream_window = 0, .takes_all = false});
  peer.Ask("GET", "/");
  EXPECT_FALSE(peer.AwaitEnd()) << "and what it says meanwhile does not help";
  EXPECT_EQ(server_->Stats().too_slow, 1U);
  EXPECT_TRUE(Eventually([&] { return server_->Stats().pending_bytes == 0; }));
}

TEST_F(Http2Test, RequestsWaitWhileTooManyAnswersWait) {
  std::atomic<int> asked{0};
  router_.Add("GET", "/counted", [&](const HttpRequest&) {
    ++asked;
    return HttpResponse{.body = std::string(60'000, 'c')};
  });
  settings_.handshake_timeout = minutes(5);
  Start();
  Http2Peer peer = Peer({.stream_window = 0, .takes_all = false});
  std::vector<int32_t> ids;
  for (int n = 0; n < 100; ++n) ids.push_back(peer.Ask("GET", "/counted"));
  peer.Flush();
  EXPECT_TRUE(Eventually([&] { return asked == 2; }));
  nghttp2_submit_ping(peer.session(), NGHTTP2_FLAG_NONE, nullptr);
  peer.Take();
  OnIoThread([] {});
  EXPECT_EQ(asked, 2) << "more than 64 KiB wait";
  const nghttp2_settings_entry window{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 200'000};
  nghttp2_submit_settings(peer.session(), NGHTTP2_FLAG_NONE, &window, 1);
  nghttp2_submit_window_update(peer.session(), NGHTTP2_FLAG_NONE, 0, 100'000'000);
  for (const int32_t id : ids) EXPECT_EQ(peer.Await(id).body.size(), 60'000U);
}

TEST_F(Http2Test, BodiesCountAgainstTheAddress) {
  settings_.max_address_mb = 1;
  Start();
  Http2Peer peer = Peer();
  std::vector<int32_t> ids;
  for (int n = 0; n < 30; ++n) ids.push_back(peer.Ask("POST", "/take", std::string(60'000, 'x'), {}, false));
  EXPECT_TRUE(peer.RefusesOneOf(ids));
  EXPECT_EQ(peer.Fetch("GET", "/").body, "landing") << "the connection goes on";
}

TEST_F(Http2Test, AStreamThatIsResetHasLeft) {
  Start();
  Http2Peer peer = Peer();
  const int32_t first = peer.Ask("GET", "/later?a");
  const int32_t second = peer.Ask("GET", "/later?b");
  peer.Flush();
  ASSERT_TRUE(record_.Await("asked", 2));
  peer.Reset(first);
  EXPECT_TRUE(record_.Await("told a client"));
  EXPECT_EQ(record_.Count("told"), 1U);
  Reply("b", "answer");
  EXPECT_EQ(peer.Await(second).body, "answer");
}

TEST_F(Http2Test, AllLeaveWithTheirConnection) {
  Start();
  for (const bool half : {false, true}) {
    Http2Peer peer = Peer();
    for (const char* path : {"/later?a", "/later?b", "/later?c"}) peer.Ask("GET", path);
    peer.Flush();
    ASSERT_TRUE(record_.Await("asked", half ? 6 : 3));
    if (half) {
      peer.client().HalfClose();
    } else {
      peer.client().Reset();
    }
    EXPECT_TRUE(record_.Await("told", half ? 6 : 3));
  }
  EXPECT_EQ(record_.Count("told a client"), 2U);
}

TEST_F(Http2Test, IgnoresAnAnswerToAStreamThatLeft) {
  router_.AddDeferred("GET", "/held", [this](const HttpRequest& r, HttpReply reply) {
    const std::lock_guard lock(mutex_);
    replies_.emplace(r.query, std::move(reply));
    record_.Add("asked " + r.query);
  });
  Start();
  Http2Peer peer = Peer();
  const int32_t id = peer.Ask("GET", "/held?a");
  peer.Flush();
  ASSERT_TRUE(record_.Await("asked a"));
  EXPECT_FALSE(replies_.find("a")->second.abandoned());
  peer.Reset(id);
  EXPECT_TRUE(Eventually([&] { return replies_.find("a")->second.abandoned(); }));
  Reply("a", "to nobody");
  EXPECT_EQ(peer.Fetch("GET", "/").body, "landing");
}

TEST_F(Http2Test, WhereThereIsNoMemoryToPostAnswersATickFindsThem) {
  Start();
  Http2Peer peer = Peer();
  const int32_t first = peer.Ask("GET", "/later?a");
  const int32_t second = peer.Ask("GET", "/later?b");
  peer.Flush();
  ASSERT_TRUE(record_.Await("asked", 2));
  OnIoThread([] {});  // the handlers have returned, so their answers have to be posted
  FailAlignedAllocation(1);
  Reply("a", "one");
  EXPECT_TRUE(EndFailing());
  Reply("b", "two");
  EXPECT_EQ(peer.Await(first).body, "one");
  EXPECT_EQ(peer.Await(second).body, "two");
}

TEST_F(Http2Test, AConnectionWithNothingUnderWayEndsInTime) {
  settings_.handshake_timeout = kShort;
  Start();
  Http2Peer silent = Peer();
  silent.Flush();
  EXPECT_EQ(silent.AwaitEnd(), static_cast<uint32_t>(NGHTTP2_NO_ERROR));
  Http2Peer peer = Peer();
  EXPECT_EQ(peer.Fetch("GET", "/").status, 200);
  EXPECT_EQ(peer.AwaitEnd(), static_cast<uint32_t>(NGHTTP2_NO_ERROR));
  EXPECT_EQ(server_->Stats().http_errors, 0U);
}

TEST_F(Http2Test, AnAnswerMayTakeLonger) {
  settings_.handshake_timeout = kShort;
  Start();
  Http2Peer peer = Peer();
  const int32_t id = peer.Ask("GET", "/later?a");
  peer.Flush();
  ASSERT_TRUE(record_.Await("asked a"));
  Http2Peer silent = Peer();
  silent.Flush();
  silent.AwaitEnd();
  Reply("a", "at last");
  EXPECT_EQ(peer.Await(id).body, "at last");
}

TEST_F(Http2Test, ARequestMustBeWholeInTime) {
  settings_.handshake_timeout = kShort;
  Start();
  Http2Peer peer = Peer();
  EXPECT_EQ(peer.Await(peer.Ask("POST", "/take", "a part", {}, false)).status, 408);
  RawHttp2 raw = Raw();
  raw.Send(Http2Frame(NGHTTP2_HEADERS, 0, 1, kGetBlock));
  EXPECT_EQ(raw.AwaitEnd().why, "no whole header in time");
}

TEST_F(Http2Test, AShutdownAnswersWhatIsUnderWay) {
  router_.AddDeferred("GET", "/held", [this](const HttpRequest& r, HttpReply reply) {
    const std::lock_guard lock(mutex_);
    replies_.emplace(r.query, std::move(reply));
    record_.Add("asked " + r.query);
  });
  Start();
  Http2Peer peer = Peer();
  const int32_t held = peer.Ask("GET", "/held?a");
  const int32_t told = peer.Ask("GET", "/later?b");
  Http2Peer idle = Peer();
  EXPECT_EQ(idle.Fetch("GET", "/").status, 200);
  peer.Flush();
  ASSERT_TRUE(record_.Await("asked", 2));
  auto shutdown = std::async(std::launch::async, [&] { server_->Shutdown(minutes(10)); });
  EXPECT_EQ(peer.Await(told).body, "{\"error\":{\"code\":\"unavailable\",\"message\":\"left\"}}\n")
      << "it was told, and answered";
  EXPECT_EQ(idle.AwaitEnd(), static_cast<uint32_t>(NGHTTP2_NO_ERROR));
  idle.client().Reset();
  EXPECT_EQ(shutdown.wait_for(milliseconds(100)), std::future_status::timeout);
  EXPECT_EQ(peer.goaway(), static_cast<uint32_t>(NGHTTP2_NO_ERROR));
  Reply("a", "the last");
  EXPECT_EQ(peer.Await(held).body, "the last");
  EXPECT_TRUE(peer.AwaitEnd());
  peer.client().Reset();
  EXPECT_EQ(shutdown.wait_for(minutes(1)), std::future_status::ready);
  EXPECT_EQ(record_.Count("told b server"), 1U);
}

TEST_F(Http2Test, AShutdownWaitsNoLongerThanItWasTold) {
  Start();
  Http2Peer peer = Peer();
  Http2Peer unsaid = Peer();
  unsaid.Flush();
  peer.Ask("POST", "/take", "a part", {}, false);
  peer.Flush();
  nghttp2_submit_ping(peer.session(), NGHTTP2_FLAG_NONE, nullptr);
  peer.Take();
  server_->Shutdown(milliseconds(100));
  peer.AwaitEnd();
  unsaid.AwaitEnd();
}

TEST_F(Http2Test, AClientThatGoesAwayIsAnsweredFirst) {
  Start();
  RawHttp2 raw = Raw();
  raw.Send(GetFrame(1) + Http2Frame(NGHTTP2_GOAWAY, 0, 0, FourBytes(0) + FourBytes(0)));
  EXPECT_EQ(raw.Next(NGHTTP2_DATA).value_or(RawHttp2Frame()).payload, "landing");
  EXPECT_FALSE(raw.Next(NGHTTP2_DATA)) << "the connection has ended";
}

// Replies and resets against ends of every kind, for the sanitizers.
TEST_F(Http2Test, RepliesWhileStreamsComeAndGo) {
  settings_.io_threads = 2;
  std::atomic<bool> stop{false};
  std::vector<std::thread> repliers;
  for (int n = 0; n < 2; ++n) {
    repliers.emplace_back([&] {
      while (!stop) {
        std::multimap<std::string, HttpReply> taken;
        {
          const std::lock_guard lock(mutex_);
          taken.swap(replies_);
        }
        for (const auto& [name, reply] : taken) reply({.body = "x"});
        if (taken.empty()) std::this_thread::yield();
      }
    });
  }
  Start();
  for (int round = 0; round < 60; ++round) {
    Http2Peer peer = Peer();
    std::vector<int32_t> ids;
    for (int n = 0; n < 40; ++n) ids.push_back(peer.Ask("GET", "/later?" + std::to_string(n)));
    peer.Flush();
    if (round % 3 == 0) peer.client().Reset();
    for (size_t n = 0; n < ids.size() && round % 3 == 1; n += 2) peer.Reset(ids[n]);
    for (size_t n = 1; n < ids.size() && round % 3 != 0; n += 2) EXPECT_GT(peer.Await(ids[n]).status, 0);
  }
  Http2Peer peer = Peer();
  for (int n = 0; n < 40; ++n) peer.Ask("GET", "/later");
  peer.Flush();
  server_.reset();
  stop = true;
  for (std::thread& replier : repliers) replier.join();
}

}  // namespace
}  // namespace weir
