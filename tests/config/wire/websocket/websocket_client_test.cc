#include "config/wire/websocket/websocket_client.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/fixtures/scripted_server.h"
#include "tests/fixtures/websocket_peer.h"

namespace weir {
namespace {

WebSocketClient::Patience Within(std::chrono::milliseconds time) {
  return {.end = std::chrono::steady_clock::now() + time, .stop = {}};
}
const std::chrono::minutes kLong{1};

WebSocketTarget TargetAt(uint16_t port) {
  return {.server = {.host = "127.0.0.1", .port = std::to_string(port)}, .user_agent = "weir/test"};
}

std::string ErrorOfOpen(const std::string& answer) {
  ScriptedServer server({{answer}});
  WebSocketClient client(TargetAt(server.port()));
  return client.Open(Within(kLong)).message();
}

// Sends the text, and returns the next message or the error.
std::string Ask(WebSocketClient& client, const std::string& text) {
  const Status sent = client.Send(text, Within(kLong));
  if (!sent.ok()) return sent.message();
  const Result<std::optional<std::string_view>> message = client.Receive(Within(kLong));
  if (!message.ok()) return message.status().message();
  return message.value() ? std::string(*message.value()) : "nothing";
}

TEST(WebSocketClientTest, SendsAndReceivesMessagesOfAnySize) {
  WebSocketPeer echo([](const std::string& message) { return WebSocketPeer::Reply{.messages = {message}}; });
  WebSocketClient client(TargetAt(echo.port()));
  ASSERT_TRUE(client.Open(Within(kLong)).ok());
  for (const size_t size : {0, 1, 125, 126, 65'535, 65'536, 3'000'000}) {
    const std::string text(size, 'x');
    EXPECT_EQ(Ask(client, text), text) << size;
  }
  EXPECT_GT(client.bytes_sent(), 3'000'000U);
  EXPECT_GT(client.bytes_received(), 3'000'000U);
}

TEST(WebSocketClientTest, ReturnsEachMessageOnceAndNothingWhenThePatienceEnds) {
  WebSocketPeer peer([](const std::string&) { return WebSocketPeer::Reply{.messages = {"one", "two"}}; });
  WebSocketClient client(TargetAt(peer.port()));
  ASSERT_TRUE(client.Open(Within(kLong)).ok());
  EXPECT_EQ(Ask(client, "?"), "one");
  const auto two = client.Receive(Within(kLong));
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two.value(), "two");
  const auto none = client.Receive(Within(std::chrono::milliseconds(0)));
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none.value());
}

TEST(WebSocketClientTest, AnswersPingsEvenWithoutPatience) {
  WebSocketPeer peer(
      [](const std::string& message) { return WebSocketPeer::Reply{.messages = {message}, .pings = message == "1"}; });
  WebSocketClient client(TargetAt(peer.port()));
  ASSERT_TRUE(client.Open(Within(kLong)).ok());
  EXPECT_EQ(Ask(client, "1"), "1");
  EXPECT_EQ(Ask(client, "2"), "2");
  EXPECT_EQ(peer.pongs(), 1U);
}

TEST(WebSocketClientTest, SaysWhyTheServerClosesTheConnection) {
  WebSocketPeer peer([](const std::string&) { return WebSocketPeer::Reply{.closes = true}; });
  WebSocketClient client(TargetAt(peer.port()));
  ASSERT_TRUE(client.Open(Within(kLong)).ok());
  EXPECT_EQ(Ask(client, "?"), "the server has closed the connection: 1008 too much");
}

TEST(WebSocketClientTest, SaysThatTheConnectionIsBroken) {
  WebSocketPeer peer([](const std::string&) { return WebSocketPeer::Reply{.breaks = true}; });
  WebSocketClient client(TargetAt(peer.port()));
  ASSERT_TRUE(client.Open(Within(kLong)).ok());
  EXPECT_EQ(Ask(client, "?"), "the connection ended");
}

TEST(WebSocketClientTest, RefusesAServerThatIsNoWebSocketServer) {
  EXPECT_EQ(ErrorOfOpen("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"),
            "the server refuses the WebSocket with HTTP status 403");
  EXPECT_EQ(ErrorOfOpen("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n"),
            "the server does not speak the WebSocket protocol: its Sec-WebSocket-Accept is wrong");
  EXPECT_TRUE(ErrorOfOpen("220 mail.example ESMTP\r\n").starts_with("the server does not speak HTTP"));
  EXPECT_TRUE(ErrorOfOpen("HTTP/1.1 101 S\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n").starts_with("the server"));
  EXPECT_EQ(ErrorOfOpen(""), "the connection ended");
}

TEST(WebSocketClientTest, SaysThatNobodyListens) {
  std::optional<WebSocketPeer> peer([](const std::string&) { return WebSocketPeer::Reply{}; });
  WebSocketClient client(TargetAt(peer->port()));
  peer.reset();
  EXPECT_TRUE(client.Open(Within(kLong)).message().starts_with("cannot connect to 127.0.0.1"));
}

}  // namespace
}  // namespace weir
