#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

using HandshakeTest = ServerTest;

std::string Without(std::string request, std::string_view header) {
  const size_t begin = request.find(header);
  return request.erase(begin, request.find("\r\n", begin) + 2 - begin);
}

std::string With(std::string request, std::string_view header, std::string_view line) {
  const size_t begin = request.find(header);
  return request.replace(begin, request.find("\r\n", begin) - begin, line);
}

TEST_F(HandshakeTest, OpensAndDescribesTheClient) {
  std::string seen;
  behaviour_.on_open = [&](Connection& c) {
    seen = c.address() + " " + c.host() + (c.secure() ? " secure" : " plain") + " " + std::to_string(c.io_thread());
  };
  Start();
  RawClient client = Open("Sec-WebSocket-Protocol: nostr, chat\r\nOrigin: https://anywhere.example\r\n");
  ASSERT_TRUE(record_.Await("open"));
  EXPECT_EQ(seen, "127.0.0.1 relay.example plain 0");
  EXPECT_EQ(server_->Stats().connections, 1U);
}

TEST_F(HandshakeTest, OpensAtTheRootAndAtThePathOfTheRelaysAddressAlone) {
  settings_.websocket_path = "/nostr/";
  Start();
  const auto at = [](const std::string& target) {
    return With(RawClient::HandshakeRequest(), "GET", "GET " + target + " HTTP/1.1");
  };
  for (const char* target :
       {"/", "/?v=1", "/nostr", "/nostr/", "http://relay.example/", "HTTP://RELAY.example/nostr?x"})
    EXPECT_EQ(StatusOf(at(target)), 101) << target;
  for (const char* target : {"/any/path", "/nost", "/nostr/x", "/%6eostr", "//", "/metrics"})
    EXPECT_EQ(StatusOf(at(target)), 404) << target;
  EXPECT_EQ(server_->Stats().handshake_failures, 6U);
}

TEST_F(HandshakeTest, AHeaderThatCanBeReadInTwoWaysIsRefused) {
  router_.Add("GET", "/api/export", [](const HttpRequest&) { return HttpResponse{.body = "all"}; });
  Start();
  const auto get = [](const std::string& target, const std::string& more = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + more + "\r\n";
  };
  const struct {
    const char* name;
    std::string request;
    int status;
  } cases[] = {
      {"a path", get("/api/export"), 200},
      {"the address of the Host", get("http://127.0.0.1/api/export"), 200},
      {"the address of another host", get("http://evil/api/export"), 400},
      {"the address of another host, with a user", get("http://127.0.0.1:80@evil/api/export"), 400},
      {"a header folded at a blank", get("/api/export", "X-Thing: one\r\n two\r\n"), 400},
      {"a header folded at a tab", get("/api/export", "X-Thing:\r\n\tone\r\n"), 400},
      {"a letter as %65", get("/api/%65xport"), 404},
  };
  for (const auto& c : cases) EXPECT_EQ(StatusOf(c.request), c.status) << c.name;
}

TEST_F(HandshakeTest, AFoldedHeaderIsRefusedWhereverItIsCut) {
  Start();
  const std::string request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Thing: one\r\n two\r\nX-Other: 3\r\n\r\n";
  for (size_t cut = 1; cut < request.size(); ++cut) {
    const uint64_t before = server_->Stats().received_bytes;
    RawClient client = ConnectAndSend(request.substr(0, cut));
    ASSERT_TRUE(Eventually([&] { return server_->Stats().received_bytes == before + cut; }));
    client.Send(request.substr(cut));
    EXPECT_EQ(client.Answer().status, 400) << cut;
  }
}

TEST_F(HandshakeTest, RefusesWhatIsNoHandshake) {
  Start();
  const std::string good = RawClient::HandshakeRequest();
  const struct {
    const char* name;
    std::string request;
  } cases[] = {
      {"no key", Without(good, "Sec-WebSocket-Key")},
      {"a short key", With(good, "Sec-WebSocket-Key", "Sec-WebSocket-Key: c2hvcnQ=")},
      {"a key that is not base64", With(good, "Sec-WebSocket-Key", "Sec-WebSocket-Key: !!!!!!!!!!!!!!!!!!!!!!==")},
      {"no version", Without(good, "Sec-WebSocket-Version")},
      {"no Connection", Without(good, "Connection")},
      {"no Host", Without(good, "Host")},
      {"POST", With(good, "GET", "POST / HTTP/1.1")},
      {"HTTP/1.0", With(good, "GET", "GET / HTTP/1.0")},
      {"not even a request", "nonsense\r\n\r\n"},
      {"TLS", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + "\r\n\r\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(StatusOf(c.request), 400) << c.name;
  EXPECT_EQ(record_.Count("open"), 0U);
  EXPECT_EQ(server_->Stats().handshake_failures, 8U);
  EXPECT_EQ(server_->Stats().http_errors, 2U) << "of what was not even a request";
}

TEST_F(HandshakeTest, NamesTheVersionItSpeaks) {
  Start();
  RawClient client = Connect();
  client.Send(With(RawClient::HandshakeRequest(), "Sec-WebSocket-Version", "Sec-WebSocket-Version: 8"));
  const RawAnswer answer = client.Answer();
  EXPECT_EQ(answer.status, 426);
  EXPECT_EQ(answer.headers.at("sec-websocket-version"), "13");
  EXPECT_TRUE(Has(answer.body, "13"));
}

TEST_F(HandshakeTest, ComesByteByByte) {
  Start();
  RawClient client = Connect();
  for (const char c : RawClient::HandshakeRequest()) ASSERT_TRUE(client.Send({&c, 1}));
  const RawAnswer answer = client.Answer();
  EXPECT_EQ(answer.status, 101);
  EXPECT_EQ(answer.headers.at("server"), "weir");
}

TEST_F(HandshakeTest, FramesMayFollowInTheSameSegment) {
  Start();
  RawClient client = Connect();
  client.Send(RawClient::HandshakeRequest() + ClientFrame(kText, "one") + ClientFrame(kText, "two"));
  ASSERT_EQ(client.Answer().status, 101);
  EXPECT_EQ(client.ReadText(), "one");
  EXPECT_EQ(client.ReadText(), "two");
}

TEST_F(HandshakeTest, AFrameMayComeInHalvesAroundTheAnswer) {
  Start();
  RawClient client = Connect();
  const std::string frame = ClientFrame(kText, "one");
  const std::string request = RawClient::HandshakeRequest();
  client.Send(request.substr(0, 30));
  ASSERT_TRUE(Eventually([&] { return server_->Stats().received_bytes == 30; }));
  client.Send(request.substr(30) + frame.substr(0, 3));
  ASSERT_EQ(client.Answer().status, 101);
  client.Send(frame.substr(3));
  EXPECT_EQ(client.ReadText(), "one");
}

TEST_F(HandshakeTest, AgreesToCompressionOnlyWhenSet) {
  Start();
  RawClient client = ConnectAndSend(RawClient::HandshakeRequest(kDeflate));
  const RawAnswer answer = client.Answer();
  EXPECT_EQ(answer.status, 101);
  EXPECT_EQ(answer.headers.count("sec-websocket-extensions"), 0U);
}

TEST_F(HandshakeTest, CompressesLongMessagesWhenAgreed) {
  settings_.compression = true;
  Start();
  RawClient client = ConnectAndSend(RawClient::HandshakeRequest(kDeflate));
  EXPECT_TRUE(Has(client.Answer().headers.at("sec-websocket-extensions"), "server_no_context_takeover"));
  ExpectEcho(client, "short");
  client.Text(std::string(10'000, 'x'));
  const auto frame = client.ReadFrame();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->reserved, 4);
  EXPECT_LT(frame->payload.size(), 200U);
  // "Hello" as RFC 7692, 7.2.3.1 has it.
  client.Send(ClientFrame(kText, std::string("\xf2\x48\xcd\xc9\xc9\x07\x00", 7), true, 4));
  EXPECT_EQ(client.ReadText(), "Hello");
}

TEST_F(HandshakeTest, DropsAClientThatDoesNotAskInTime) {
  settings_.handshake_timeout = std::chrono::seconds(1);
  Start();
  RawClient silent = Connect();
  RawClient slow = ConnectAndSend("GET / HTTP/1.1\r\nHost");
  EXPECT_EQ(slow.Answer().status, 408);
  EXPECT_TRUE(slow.AtEnd());
  EXPECT_EQ(silent.Answer().status, 408);
  EXPECT_EQ(server_->Stats().http_errors, 2U);
  EXPECT_EQ(server_->Stats().handshake_failures, 0U);
}

}  // namespace
}  // namespace weir
