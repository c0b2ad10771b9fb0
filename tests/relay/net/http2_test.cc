// HTTP/2 to the routes of HTTP/1.1: by its preface and by upgrade, by the same rules.
#include <thread>

#include "relay/net/http_bounds.h"
#include "relay/net/http_stream.h"
#include "tests/relay/net/http2_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

TEST_F(Http2Test, AnswersARoute) {
  Start();
  Http2Peer peer = Peer();
  const RawAnswer answer = peer.Fetch("GET", "/echo%20path?a=%20b#part", "", {{"x-thing", "Value"}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "GET /echo path ?a=%20b 127.0.0.1 127.0.0.1 x Value");
  EXPECT_EQ(answer.headers.at("server"), "weir");
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(answer.headers.at("content-length"), std::to_string(answer.body.size()));
  EXPECT_EQ(answer.headers.at("x-answer"), "yes");
  EXPECT_EQ(answer.headers.count("date"), 1U);
  EXPECT_EQ(answer.headers.count("connection"), 0U);
  EXPECT_EQ(server_->Stats().http_requests, 1U);
}

TEST_F(Http2Test, ManyRequestsAreUnderWayAtOnceAndAreAnsweredInAnyOrder) {
  Start();
  Http2Peer peer = Peer();
  std::vector<int32_t> ids;
  for (int n = 0; n < 100; ++n) ids.push_back(peer.Ask("GET", "/later?" + std::to_string(n)));
  peer.Flush();
  ASSERT_TRUE(record_.Await("asked", 100));
  EXPECT_EQ(peer.Fetch("GET", "/").body, "landing") << "nothing waits for them";
  std::vector<std::thread> threads;
  for (int part = 0; part < 4; ++part) {
    threads.emplace_back([&, part] {
      for (int n = 99 - part; n >= 0; n -= 4) Reply(std::to_string(n), "answer " + std::to_string(n));
    });
  }
  for (int n = 0; n < 100; ++n) EXPECT_EQ(peer.Await(ids[n]).body, "answer " + std::to_string(n));
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Http2Test, TakesBodiesAndGivesBodiesOfAnySize) {
  Start();
  Http2Peer peer = Peer();
  const std::string body(300'000, 'x');
  const int32_t first = peer.Ask("POST", "/take", body);
  const int32_t second = peer.Ask("POST", "/take", "short");
  EXPECT_EQ(peer.Await(second).body, "short");
  EXPECT_EQ(peer.Await(first).body, body);
  EXPECT_EQ(peer.Fetch("POST", "/take").status, 201);
  EXPECT_EQ(peer.Fetch("GET", "/big").body.size(), 1'000'000U);
}

TEST_F(Http2Test, HeadAndNoContentHaveNoBody) {
  Start();
  Http2Peer peer = Peer();
  const RawAnswer head = peer.Fetch("HEAD", "/big");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "1000000");
  EXPECT_EQ(head.body, "");
  const RawAnswer empty = peer.Fetch("GET", "/empty");
  EXPECT_EQ(empty.status, 204);
  EXPECT_EQ(empty.headers.count("content-length"), 0U);
  EXPECT_EQ(peer.Fetch("HEAD", "/later-nowhere").status, 404);
}

TEST_F(Http2Test, GivesTheSameRefusalsAsTheOlderVersion) {
  settings_.max_http_body_bytes = 100'000;
  router_.AddWording("/v1/", [](HttpResponse plain, const HttpRequest&) {
    plain.content_type = "text/worded";
    plain.body = "worded: " + plain.body;
    return plain;
  });
  Start();
  Http2Peer peer = Peer();
  const RawAnswer not_there = peer.Fetch("GET", "/v1/nowhere");
  EXPECT_EQ(not_there.status, 404);
  EXPECT_EQ(not_there.body, "worded: nothing is at /v1/nowhere\n");
  EXPECT_EQ(peer.Fetch("GET", "/%74ake").status, 404) << "one spelling of a path";
  const RawAnswer wrong_method = peer.Fetch("DELETE", "/take");
  EXPECT_EQ(wrong_method.status, 405);
  EXPECT_EQ(wrong_method.headers.at("allow"), "POST, OPTIONS");
  EXPECT_EQ(peer.Fetch("OPTIONS", "*").status, 204);
  EXPECT_EQ(peer.Fetch("GET", "/%zz").status, 400);
  EXPECT_EQ(peer.Fetch("GET", "/", "", {{"host", "y"}}).status, 400);
  EXPECT_EQ(peer.Fetch("GET", "/", "", {{"host", "X"}}).status, 200);
  EXPECT_EQ(peer.AwaitClose(peer.Ask("GET", "/", "", {{":authority", ""}})),
            static_cast<uint32_t>(NGHTTP2_PROTOCOL_ERROR));
  EXPECT_EQ(peer.Fetch("GET", "/", "", {{"x-long", std::string(17'000, 'x')}}).status, 431);
  EXPECT_EQ(peer.Await(peer.Ask("POST", "/take", "", {{"content-length", "100001"}}, false)).status, 413);
  EXPECT_EQ(peer.Fetch("GET", "/fault").status, 500);
  EXPECT_EQ(peer.Fetch("GET", "/").body, "landing") << "and the connection goes on";
}

TEST_F(Http2Test, ABodyThatNoRouteWantsIsNotTakenWhole) {
  settings_.max_http_body_bytes = 100'000;
  Start();
  Http2Peer peer = Peer();
  const std::string body(4 * kMostDroppedBodyBytes, 'x');
  for (const char* path : {"/nowhere", "/take"}) {
    const int32_t id = peer.Ask("POST", path, body);
    EXPECT_EQ(peer.Await(id).status, std::string(path) == "/take" ? 413 : 404);
    EXPECT_EQ(peer.AwaitClose(id), static_cast<uint32_t>(NGHTTP2_NO_ERROR));
  }
  EXPECT_LT(server_->Stats().received_bytes, 3 * kMostDroppedBodyBytes);
  EXPECT_EQ(peer.Fetch("GET", "/", std::string(5000, 'x')).status, 413) << "of a method that has none";
  EXPECT_EQ(server_->Stats().http_errors, 3U);
}

// curl takes a reset before its body's end for a failure, and httpx sends the whole body before it reads.
TEST_F(Http2Test, AClientThatStillSendsSeesItsAnswerBeforeTheReset) {
  settings_.max_http_body_bytes = 100'000;
  Start();
  Http2Peer peer = Peer();
  for (const auto& [path, status] : {std::pair("/nowhere", 404), std::pair("/take", 413)}) {
    const int32_t id = peer.Ask("POST", path, std::string(5'000'000, 'x'));
    EXPECT_EQ(peer.Await(id).status, status);
    EXPECT_FALSE(peer.WasReset(id)) << "the whole body was read and dropped";
  }
  EXPECT_TRUE(Eventually([&] { return server_->Stats().received_bytes > 10'000'000; }));
}

TEST_F(Http2Test, AClientThatNeverEndsItsBodyIsResetInAWhile) {
  settings_.max_http_body_bytes = 100'000;
  Start();
  Http2Peer peer = Peer();
  const int32_t id = peer.Ask("POST", "/take", std::string(100'001, 'x'), {}, false);
  EXPECT_EQ(peer.Await(id).status, 413);
  EXPECT_TRUE(peer.WasReset(id));
  EXPECT_EQ(peer.AwaitClose(id), static_cast<uint32_t>(NGHTTP2_NO_ERROR));
  EXPECT_EQ(peer.Fetch("GET", "/").body, "landing");
}

TEST_F(Http2Test, HeadersThatHaveNoPlaceHereResetTheirStream) {
  Start();
  Http2Peer peer = Peer();
  const Http2Fields bad[] = {
      {{"connection", "close"}}, {{"transfer-encoding", "chunked"}}, {{"upgrade", "websocket"}}, {{"te", "gzip"}}};
  for (const Http2Fields& fields : bad)
    EXPECT_EQ(peer.AwaitClose(peer.Ask("GET", "/", "", fields)), static_cast<uint32_t>(NGHTTP2_PROTOCOL_ERROR));
  EXPECT_EQ(peer.Fetch("GET", "/", "", {{"te", "trailers"}}).status, 200);
  EXPECT_EQ(server_->Stats().http_errors, 4U);
}

TEST_F(Http2Test, ATrustedProxyNamesTheClient) {
  settings_.trusted_proxies = "127.0.0.0/8";
  Start();
  Http2Peer peer = Peer();
  EXPECT_EQ(
      peer.Fetch("GET", "/echo%20path", "", {{"x-forwarded-for", "9.9.9.9"}, {"x-forwarded-for", "1.2.3.4"}}).body,
      "GET /echo path ? 1.2.3.4 127.0.0.1 x ");
  EXPECT_EQ(peer.Fetch("GET", "/echo%20path").body, "GET /echo path ? 127.0.0.1 127.0.0.1 x ");
}

TEST_F(Http2Test, SaysContinueIfAsked) {
  Start();
  Http2Peer peer = Peer();
  EXPECT_EQ(peer.Fetch("POST", "/take", "body", {{"expect", "100-continue"}}).body, "body");
  EXPECT_EQ(peer.continues(), 1);
}

TEST_F(Http2Test, TrailersArePassedOver) {
  Start();
  RawHttp2 raw = Raw();
  const std::string post("\x83\x04\x05/take\x86\x41\x01x", 12);
  raw.Send(Http2Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, post) + Http2Frame(NGHTTP2_DATA, 0, 1, "body") +
           Http2Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1,
                      std::string("\x00\x01y\x01z", 5)));
  EXPECT_EQ(raw.Next(NGHTTP2_DATA).value_or(RawHttp2Frame()).payload, "body");
}

TEST_F(Http2Test, ThePrefaceMayComeByteByByte) {
  Start();
  Http2Peer peer = Peer();
  const int32_t id = peer.Ask("GET", "/");
  for (const char c : peer.TakeOutput()) ASSERT_TRUE(peer.client().Send({&c, 1}));
  EXPECT_EQ(peer.Await(id).body, "landing");
}

TEST_F(Http2Test, ARequestMayBeginLikeThePreface) {
  Start();
  RawClient client = ConnectAndSend("P");
  OnIoThread([] {});
  client.Send("OST /take HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(client.Answer().body, "ok");
  RawClient almost = ConnectAndSend("PRI * HTTP/2.0\r\n\r\nSX");
  EXPECT_EQ(almost.Answer().status, 505);
}

TEST_F(Http2Test, APrefaceThatIsNotWholeInTimeIsNoRequest) {
  settings_.handshake_timeout = milliseconds(400);
  Start();
  RawClient client = ConnectAndSend("PRI * HT");
  EXPECT_EQ(client.Answer().status, 408);
}

// An upgrade.
class UpgradeTest : public Http2Test {
 protected:
  static std::string Request(const std::string& more, const std::string& first = "GET /echo%20path HTTP/1.1") {
    return first + "\r\nHost: x\r\n" + more + "\r\n";
  }
  static constexpr const char* kGood =
      "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n";
};

TEST_F(UpgradeTest, TheRequestIsTheFirstStream) {
  Start();
  RawClient client = ConnectAndSend(Request(kGood));
  EXPECT_EQ(client.Answer(false).status, 101);
  RawHttp2 raw(std::move(client));
  const auto answer = raw.Next(NGHTTP2_DATA);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->stream, 1U);
  EXPECT_EQ(answer->payload, "GET /echo path ? 127.0.0.1 127.0.0.1 x ");
  raw.Send(GetFrame(3));
  EXPECT_EQ(raw.Next(NGHTTP2_DATA).value_or(RawHttp2Frame()).payload, "landing");
  EXPECT_EQ(server_->Stats().http_requests, 2U);
}

// A proxy that passes the upgrade on would be a tunnel, in which the client names its address itself.
TEST_F(UpgradeTest, IsNotForRequestsThatATrustedProxyPassesOn) {
  settings_.trusted_proxies = "127.0.0.1";
  Start();
  RawClient client = ConnectAndSend(Request(kGood));
  EXPECT_EQ(client.Answer().status, 200);
}

TEST_F(UpgradeTest, AHeadHasNoBody) {
  Start();
  RawClient client = ConnectAndSend(Request(kGood, "HEAD /big HTTP/1.1"));
  EXPECT_EQ(client.Answer(false).status, 101);
  RawHttp2 raw(std::move(client));
  raw.Send(GetFrame(3));
  const auto data = raw.Next(NGHTTP2_DATA);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->stream, 3U);
}

TEST_F(UpgradeTest, AnUploadIsTakenWholeBeforeTheUpgrade) {
  Start();
  RawClient client = Connect();
  const std::string request =
      Request(std::string(kGood) + "Content-Length: 4\r\n", "POST /take HTTP/1.1") + "body" + kPreface;
  for (const char c : request) ASSERT_TRUE(client.Send({&c, 1}));
  EXPECT_EQ(client.Answer(false).status, 101);
  client.Send(Http2Frame(NGHTTP2_SETTINGS, 0, 0));
  std::string answer;
  while (!Has(answer, "body")) {
    const std::string some = client.ReadSome();
    ASSERT_FALSE(some.empty());
    answer += some;
  }
}

TEST_F(UpgradeTest, IgnoresAnUpgradeThatCannotBe) {
  router_.AddStream("GET", "/down", [](const HttpRequest&, HttpExchange&) { return HttpResponse{.body = "refused"}; });
  Start();
  const std::string upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n";
  const std::string settings = "HTTP2-Settings: AAMAAABk\r\n";
  const std::string bad[] = {upgrade,
                             upgrade + settings + settings,
                             upgrade + "HTTP2-Settings: AAMAAAB\r\n",
                             upgrade + "HTTP2-Settings: !!!!\r\n",
                             settings + "Connection: Upgrade\r\nUpgrade: h2c\r\n",
                             settings + "Connection: HTTP2-Settings\r\nUpgrade: h2c\r\n",
                             settings + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2\r\n"};
  for (const std::string& more : bad) EXPECT_EQ(StatusOf(Request(more)), 200) << more;
  EXPECT_EQ(StatusOf(Request(kGood, "GET /nowhere HTTP/1.1")), 101);
  EXPECT_EQ(StatusOf(Request(kGood, "GET /down HTTP/1.1")), 200) << "what streams goes on as it is";
  EXPECT_EQ(StatusOf("GET / HTTP/1.0\r\nHost: x\r\n" + std::string(kGood) + "\r\n"), 200);
}

TEST_F(UpgradeTest, AWebSocketComesFirst) {
  Start();
  RawClient client = Connect();
  EXPECT_TRUE(client.Handshake("Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nConnection: HTTP2-Settings\r\n"));
}

TEST_F(UpgradeTest, AnUpgradeWithoutThePrefaceEndsWithAnError) {
  Start();
  RawClient client = ConnectAndSend(Request(kGood) + "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.Answer(false).status, 101);
  RawHttp2 raw(std::move(client));
  EXPECT_TRUE(raw.AwaitEnd().code);
}

}  // namespace
}  // namespace weir
