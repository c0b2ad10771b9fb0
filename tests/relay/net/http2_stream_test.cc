// Requests and answers in pieces over HTTP/2: the routes of HTTP/1.1, each exchange one stream of many.
#include <future>
#include <string>
#include <vector>

#include "tests/fixtures/failing_memory.h"
#include "tests/relay/net/http2_fixture.h"
#include "tests/relay/net/stream_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr uint32_t kWindow = 65'535;
constexpr auto kShort = milliseconds(1500);  // between pings

class Http2StreamTest : public StreamTest {
 protected:
  ~Http2StreamTest() override { server_.reset(); }
  Http2Peer Peer(const Http2Settings& settings = {}) { return Http2Peer(Connect(), settings); }
  // Returns when the server has read all that the peer has sent.
  static void Sync(Http2Peer& peer) {
    nghttp2_submit_ping(peer.session(), NGHTTP2_FLAG_NONE, nullptr);
    ASSERT_TRUE(peer.Take());
  }
  void NeverEnd() { stream_.on_body_end = nullptr; }
  // The answer begins at once, and goes on.
  void BeginAtOnce() {
    NeverEnd();
    stream_.on_begin = [](HttpExchange& exchange) { exchange.Begin({.body = "begun"}); };
  }
  void AwaitBegun(Http2Peer& peer, int32_t id) {
    while (peer.SoFar(id).body.size() < 5) ASSERT_TRUE(peer.Take());
  }
};

TEST_F(Http2StreamTest, ABodyComesAndAnAnswerGoesInPieces) {
  Start();
  Http2Peer peer = Peer();
  const std::string body(3'000'000, 'x');
  const RawAnswer answer = peer.Fetch("POST", "/up?a=b", body);
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, body);
  EXPECT_EQ(answer.headers.count("content-length"), 0U);
  EXPECT_GT(record_.Count("body"), 2U);
  EXPECT_EQ(record_.Count("POST /up ?a=b 127.0.0.1 127.0.0.1 0"), 1U);
  ExpectEnd("answered 201");
  EXPECT_EQ(peer.Fetch("GET", "/").body, "landing") << "the connection goes on";
}

TEST_F(Http2StreamTest, AnAnswerMayBeginBeforeTheBodyEnds) {
  stream_.on_begin = [](HttpExchange& exchange) { exchange.Begin({}); };
  stream_.on_body = [](HttpExchange& exchange, std::string_view piece) { exchange.Write(piece); };
  stream_.on_body_end = [](HttpExchange& exchange, const std::string&) { exchange.End(); };
  Start();
  Http2Peer peer = Peer();
  const int32_t id = peer.Ask("POST", "/up", "a part", {}, false);
  while (peer.SoFar(id).body != "a part") ASSERT_TRUE(peer.Take());
  peer.Reset(id);
  ExpectEnd("the client has left");
}

TEST_F(Http2StreamTest, TrailersComeBehindTheLastPiece) {
  stream_.on_body_end = [](HttpExchange& exchange, const std::string& body) {
    exchange.Begin({.body = body});
    exchange.EndWith({{"X-Sum", "7"}});
  };
  Start();
  Http2Peer peer = Peer();
  EXPECT_EQ(peer.Fetch("POST", "/up", "abc").headers.at("x-sum"), "7");
  EXPECT_EQ(peer.Fetch("POST", "/up").headers.at("x-sum"), "7") << "also where there is no piece";
  RawClient old = ConnectAndSend(PostOf("abc"));
  EXPECT_EQ(old.Answer().status, 200);
  EXPECT_EQ(old.ReadToEnd(), "3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n");
}

TEST_F(Http2StreamTest, ManyExchangesShareAConnection) {
  std::vector<HttpExchange*> open;
  stream_.on_body_end = [&](HttpExchange& exchange, const std::string&) {
    exchange.Begin({.body = "begun"});
    open.push_back(&exchange);
  };
  Start();
  Http2Peer peer = Peer();
  std::vector<int32_t> ids;
  for (int n = 0; n < 100; ++n) ids.push_back(peer.Ask("GET", "/down"));
  for (const int32_t id : ids) AwaitBegun(peer, id);
  EXPECT_EQ(peer.Fetch("GET", "/").body, "landing");
  OnIoThread([&] {
    for (HttpExchange* exchange : open) {
      exchange->Write(" ended");
      exchange->End();
    }
  });
  for (const int32_t id : ids) EXPECT_EQ(peer.Await(id).body, "begun ended");
  EXPECT_EQ(record_.Count("end: answered 200"), 100U);
}

TEST_F(Http2StreamTest, APausedBodyIsHeldToTheWindowAndTheOthersGoOn) {
  stream_.on_begin = [](HttpExchange& exchange) { exchange.PauseBody(); };
  Start();
  Http2Peer peer = Peer();
  const std::string body(300'000, 'x');
  const int32_t id = peer.Ask("POST", "/up", body);
  peer.Flush();
  ASSERT_TRUE(Eventually([&] { return server_->Stats().received_bytes >= kWindow; }));
  EXPECT_EQ(peer.Fetch("POST", "/take", std::string(200'000, 'y')).body.size(), 200'000U);
  EXPECT_EQ(record_.Count("body"), 0U);
  EXPECT_EQ(nghttp2_session_get_stream_remote_window_size(peer.session(), id), 0) << "no more may be sent";
  OnIoThread([&] { exchange_->ResumeBody(); });
  EXPECT_EQ(peer.Await(id).body, body);
}

TEST_F(Http2StreamTest, CountsHeldBodiesAgainstTheAddress) {
  settings_.max_address_mb = 1;
  BeginAtOnce();
  stream_.on_begin = [](HttpExchange& exchange) { exchange.PauseBody(); };
  Start();
  Http2Peer peer = Peer();
  std::vector<int32_t> ids;
  for (int n = 0; n < 30; ++n) ids.push_back(peer.Ask("POST", "/up", std::string(60'000, 'x'), {}, false));
  EXPECT_TRUE(peer.RefusesOneOf(ids));
  EXPECT_EQ(peer.Fetch("GET", "/").body, "landing") << "the connection goes on";
}

TEST_F(Http2StreamTest, AStreamThatIsNotReadWaitsAndTheOthersGoOn) {
  bool taken = false;
  stream_.on_body_end = [&](HttpExchange& exchange, const std::string&) {
    exchange.Begin({.body = std::string(200'000, 'd')});
    exchange.WhenPendingBelow(0, [&] {
      taken = true;
      exchange.End();
    });
  };
  Start();
  Http2Peer peer = Peer({.stream_window = 1000, .takes_all = false});
  const int32_t id = peer.Ask("GET", "/down");
  EXPECT_EQ(peer.Await(peer.Ask("GET", "/")).body, "landing");
  while (peer.SoFar(id).body.size() < 1000) ASSERT_TRUE(peer.Take());
  Sync(peer);
  EXPECT_EQ(peer.SoFar(id).body.size(), 1000U);
  OnIoThread([&] {
    EXPECT_EQ(exchange_->pending_bytes(), 199'000U);
    EXPECT_FALSE(taken);
  });
  EXPECT_TRUE(Eventually([&] { return server_->Stats().pending_bytes == 199'000; }));
  nghttp2_submit_window_update(peer.session(), NGHTTP2_FLAG_NONE, id, 1'000'000);
  nghttp2_submit_window_update(peer.session(), NGHTTP2_FLAG_NONE, 0, 1'000'000);
  EXPECT_EQ(peer.Await(id).body.size(), 200'000U);
  EXPECT_TRUE(taken);
  EXPECT_TRUE(Eventually([&] { return server_->Stats().pending_bytes == 0; }));
}

TEST_F(Http2StreamTest, AHandlerThatWritesTooMuchLosesTheStreamAlone) {
  settings_.max_pending_bytes = 256 << 10;
  stream_.on_body_end = [](HttpExchange& exchange, const std::string&) {
    exchange.Begin({});
    for (int n = 0; n < 1000; ++n) exchange.Write(std::string(10'000, 'x'));
  };
  Start();
  Http2Peer peer = Peer({.stream_window = 0, .takes_all = false});
  EXPECT_EQ(peer.AwaitClose(peer.Ask("GET", "/down")), static_cast<uint32_t>(NGHTTP2_ENHANCE_YOUR_CALM));
  ExpectEnd("too slow");
  EXPECT_EQ(server_->Stats().too_slow, 1U);
  EXPECT_TRUE(Eventually([&] { return server_->Stats().pending_bytes == 0; }));
  Sync(peer);
}

TEST_F(Http2StreamTest, AStreamThatIsNeverTakenIsResetInTime) {
  settings_.ping_interval = kShort;
  BeginAtOnce();
  Start();
  Http2Peer peer = Peer({.stream_window = 3, .takes_all = false});
  EXPECT_EQ(peer.AwaitClose(peer.Ask("GET", "/down")), static_cast<uint32_t>(NGHTTP2_ENHANCE_YOUR_CALM));
  ExpectEnd("too slow");
}

TEST_F(Http2StreamTest, AStreamWhoseBodyStopsEndsInTime) {
  settings_.ping_interval = kShort;
  NeverEnd();
  Start();
  Http2Peer peer = Peer();
  EXPECT_EQ(peer.Await(peer.Ask("POST", "/up", "a part", {}, false)).status, 408);
  ExpectEnd("answered 408");
}

TEST_F(Http2StreamTest, ASilentStreamIsAskedForLife) {
  settings_.ping_interval = kShort;
  BeginAtOnce();
  Start();
  Http2Peer peer = Peer();
  AwaitBegun(peer, peer.Ask("GET", "/down"));
  RawHttp2 gone(Connect());
  gone.Send(Http2Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1,
                       std::string("\x82\x86\x41\x01x\x04\x05/down", 12)));
  EXPECT_TRUE(gone.Next(NGHTTP2_PING));
  auto answers = std::async(std::launch::async, [&] { return peer.AwaitEnd(); });
  gone.AwaitEnd();
  EXPECT_TRUE(record_.Await("end: no answer to a ping"));
  EXPECT_EQ(record_.Count("end: "), 1U) << "the other answers";
  server_.reset();
  answers.wait();
}

TEST_F(Http2StreamTest, AResetEndsTheExchangeAtOnce) {
  BeginAtOnce();
  Start();
  Http2Peer peer = Peer();
  const int32_t id = peer.Ask("GET", "/down");
  AwaitBegun(peer, id);
  peer.Reset(id);
  ExpectEnd("the client has left");
  EXPECT_EQ(peer.Fetch("GET", "/").body, "landing");
}

TEST_F(Http2StreamTest, AllExchangesEndWithTheirConnection) {
  BeginAtOnce();
  Start();
  for (const bool half : {false, true}) {
    Http2Peer peer = Peer();
    for (int n = 0; n < 3; ++n) AwaitBegun(peer, peer.Ask("GET", "/down"));
    if (half) {
      peer.client().HalfClose();
    } else {
      peer.client().Reset();
    }
    EXPECT_TRUE(record_.Await("end: ", half ? 6 : 3));
  }
  EXPECT_EQ(record_.Count("end: the client hung up"), 3U);
  EXPECT_EQ(record_.Count("end: connection lost"), 3U);
}

TEST_F(Http2StreamTest, AShutdownAndAClientsGoAwayAskForTheEnd) {
  BeginAtOnce();
  stream_.on_shutdown = [](HttpExchange& exchange) {
    exchange.Write(" and ended");
    exchange.End();
  };
  Start();
  Http2Peer leaving = Peer();
  const int32_t first = leaving.Ask("GET", "/down");
  AwaitBegun(leaving, first);
  nghttp2_submit_goaway(leaving.session(), NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, nullptr, 0);
  EXPECT_EQ(leaving.Await(first).body, "begun and ended");
  Http2Peer peer = Peer();
  const int32_t second = peer.Ask("GET", "/down");
  AwaitBegun(peer, second);
  auto shutdown = std::async(std::launch::async, [&] { server_->Shutdown(minutes(10)); });
  EXPECT_EQ(peer.Await(second).body, "begun and ended");
  EXPECT_EQ(peer.AwaitEnd(), static_cast<uint32_t>(NGHTTP2_NO_ERROR));
  peer.client().Reset();
  leaving.client().Reset();
  EXPECT_EQ(shutdown.wait_for(minutes(1)), std::future_status::ready);
  EXPECT_EQ(record_.Count("shutdown"), 2U);
}

TEST_F(Http2StreamTest, ARefusalAnswersTheStream) {
  stream_.refuse = [](const HttpRequest&) { return HttpResponse{.status = 403, .body = "no"}; };
  Start();
  Http2Peer peer = Peer();
  const RawAnswer answer = peer.Fetch("POST", "/up", std::string(1'000'000, 'x'));
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.body, "{\"error\":{\"code\":\"forbidden\",\"message\":\"no\"}}\n");
  EXPECT_EQ(record_.Count("body"), 0U);
  EXPECT_EQ(peer.Fetch("GET", "/").body, "landing");
}

TEST_F(Http2StreamTest, AFaultIsAnsweredOrBreaksTheStreamOff) {
  stream_.on_body = [](HttpExchange& exchange, std::string_view piece) {
    if (piece == "late") exchange.Begin({.body = "begun"});
    throw std::runtime_error("secret");
  };
  Start();
  Http2Peer peer = Peer();
  const RawAnswer early = peer.Fetch("POST", "/up", "early");
  EXPECT_EQ(early.status, 500);
  EXPECT_FALSE(Has(early.body, "secret"));
  EXPECT_EQ(peer.AwaitClose(peer.Ask("POST", "/up", "late")), static_cast<uint32_t>(NGHTTP2_INTERNAL_ERROR));
  EXPECT_EQ(peer.Fetch("GET", "/").body, "landing");
}

TEST_F(Http2StreamTest, AnAbortBreaksTheStreamOff) {
  NeverEnd();
  stream_.on_begin = [](HttpExchange& exchange) {
    exchange.Begin({.body = "begun"});
    exchange.poster()([&exchange] { exchange.Abort("the store is gone"); });
  };
  Start();
  Http2Peer peer = Peer();
  EXPECT_EQ(peer.AwaitClose(peer.Ask("GET", "/down")), static_cast<uint32_t>(NGHTTP2_INTERNAL_ERROR));
  ExpectEnd("the store is gone");
}

TEST_F(Http2StreamTest, WhereThereIsNoMemoryToPostATaskTheStreamEnds) {
  HttpPoster post;
  stream_.on_body_end = [&](HttpExchange& exchange, const std::string&) {
    exchange.Begin({.body = "begun"});
    post = exchange.poster();
  };
  Start();
  Http2Peer peer = Peer();
  const int32_t id = peer.Ask("GET", "/down");
  AwaitBegun(peer, id);
  OnIoThread([] {});  // the handler has returned
  FailAlignedAllocation(1);
  EXPECT_NO_THROW(post([] { ADD_FAILURE() << "it is lost"; }));
  EXPECT_TRUE(EndFailing());
  EXPECT_EQ(peer.AwaitClose(id), static_cast<uint32_t>(NGHTTP2_INTERNAL_ERROR));
  ExpectEnd("a fault in the server");
  EXPECT_EQ(peer.Fetch("GET", "/").body, "landing");
}

TEST_F(Http2StreamTest, HeadIsTheHeadOfGet) {
  stream_.on_body_end = [](HttpExchange& exchange, const std::string&) {
    exchange.Begin({.body = "x"});
    exchange.Write("y");
    exchange.End();
  };
  Start();
  Http2Peer peer = Peer();
  const RawAnswer answer = peer.Fetch("HEAD", "/down");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(answer.headers.count("content-length"), 0U);
}

TEST_F(Http2StreamTest, SaysContinueIfAsked) {
  Start();
  Http2Peer peer = Peer();
  EXPECT_EQ(peer.Fetch("POST", "/up", "abc", {{"expect", "100-continue"}}).body, "abc");
  EXPECT_EQ(peer.continues(), 1);
}

TEST_F(Http2StreamTest, RunsNoTaskPostedToAnExchangeThatHasEnded) {
  HttpPoster post;
  stream_.on_body_end = [&](HttpExchange& exchange, const std::string&) {
    post = exchange.poster();
    post([this] { record_.Add("posted"); });
    exchange.Begin({});
    exchange.End();
  };
  Start();
  Http2Peer peer = Peer();
  EXPECT_EQ(peer.Fetch("GET", "/down").status, 200);
  post([this] { record_.Add("posted"); });
  OnIoThread([] {});
  EXPECT_EQ(record_.Count("posted"), 0U);
  server_.reset();
  post([this] { record_.Add("posted"); });
  EXPECT_EQ(record_.Count("posted"), 0U);
}

// Writers of other threads against ends of every kind, for the sanitizers.
TEST_F(Http2StreamTest, PostsWhileStreamsComeAndGo) {
  settings_.io_threads = 2;
  std::mutex mutex;
  std::vector<std::pair<HttpPoster, HttpExchange*>> open;
  stream_.on_body_end = [&](HttpExchange& exchange, const std::string&) {
    exchange.Begin({.body = "begun"});
    const std::lock_guard lock(mutex);
    open.emplace_back(exchange.poster(), &exchange);
  };
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int n = 0; !stop; ++n) {
      const std::lock_guard lock(mutex);
      for (const auto& [post, exchange] : open)
        post([n, one = exchange] { n % 3 == 0 ? one->End() : one->Write("more"); });
      open.clear();
    }
  });
  Start();
  for (int round = 0; round < 30; ++round) {
    Http2Peer peer = Peer();
    std::vector<int32_t> ids;
    for (int n = 0; n < 30; ++n) ids.push_back(peer.Ask("GET", "/down"));
    peer.Flush();
    for (size_t n = 0; n < ids.size() && round % 2 == 1; n += 2) peer.Reset(ids[n]);
    peer.Take();
    if (round % 3 == 0) peer.client().Reset();
  }
  server_.reset();
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace weir
