#include <optional>

#include "relay/net/places.h"
#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

// Enough for a client on a busy machine.
constexpr milliseconds kTimeToAnswer{1000};

class LimitsTest : public ServerTest {
 protected:
  RawAnswer AskToOpen(std::string_view more = "") { return Ask(RawClient::HandshakeRequest(more)); }
  static void AnswerPings(RawClient& client, int pings) {
    for (int n = 0; n < pings; ++n) {
      const auto ping = client.ReadFrame();
      ASSERT_TRUE(ping);
      ASSERT_EQ(ping->opcode, kPing);
      client.Send(ClientFrame(kPong, ping->payload));
    }
  }
};

TEST_F(LimitsTest, OneConnectionTooManyIsToldSo) {
  settings_.max_connections = 2;
  Start();
  RawClient one = Open();
  {
    RawClient two = Open();
    RawClient three = ConnectAndSend(RawClient::HandshakeRequest());
    const RawAnswer answer = three.Answer();
    EXPECT_EQ(answer.status, 503);
    EXPECT_TRUE(Has(answer.body, "all the 2 connections")) << answer.body;
    EXPECT_TRUE(three.AtEnd());
    EXPECT_EQ(server_->Stats().refused_limit, 1U);
  }
  // A place that was given back can be taken.
  EXPECT_TRUE(Eventually([&] { return Connect().Handshake(); }));
  ExpectEcho(one);
}

TEST_F(LimitsTest, IfAllIsFullANewcomerDisplacesTheMostSilentConnection) {
  settings_.max_connections = 4;
  Start();
  std::vector<RawClient> full;
  for (int n = 0; n < 4; ++n) full.push_back(Open("", n < 3 ? "127.0.0.2" : "127.0.0.3"));
  ExpectEcho(full[0], "not silent");
  RawClient newcomer = Open("", "127.0.0.4");
  EXPECT_TRUE(full[1].AtEnd());
  EXPECT_TRUE(record_.Await("end: its place was needed"));
  for (RawClient* client : {&full[0], &full[2], &full[3], &newcomer}) ExpectEcho(*client);
  EXPECT_EQ(server_->Stats().gave_way, 1U);
}

TEST_F(LimitsTest, IfAllIsFullThisMachineIsStillAnswered) {
  settings_.max_connections = 1;
  router_.Add("GET", "/healthz", [](const HttpRequest&) { return HttpResponse{.body = "alive\n"}; });
  Start();
  const RawClient full = Open("", "127.0.0.2");
  const auto ask = [this](const std::string& from) {
    RawClient client = Connect(from);
    client.Send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return client.Answer().status;
  };
  EXPECT_EQ(ask("127.0.0.3"), 503);
  std::vector<RawClient> silent;
  for (size_t n = 0; n < Places::kMostOfHere + 8; ++n) {
    silent.push_back(Connect());
    EXPECT_EQ(ask("127.0.0.1"), 200) << n;
  }
  EXPECT_EQ(AskToOpen().status, 503) << "these places are for requests";
}

TEST_F(LimitsTest, BehindAProxyAClientWithMostGivesWayToOneWithNone) {
  settings_.trusted_proxies = "127.0.0.1";
  settings_.max_connections = 3;
  Start();
  std::vector<RawClient> full;
  for (int n = 0; n < 3; ++n) full.push_back(Open("X-Forwarded-For: 192.0.2.1\r\n"));
  RawClient newcomer = Open("X-Forwarded-For: 192.0.2.2\r\n");
  EXPECT_TRUE(record_.Await("end: its place was needed"));
  ExpectEcho(newcomer);
}

TEST_F(LimitsTest, OneOfAnAddressTooManyIsToldSo) {
  settings_.max_connections_per_address = 2;
  Start();
  RawClient one = Open();
  RawClient two = Open();
  const RawAnswer answer = AskToOpen();
  EXPECT_EQ(answer.status, 503) << "the address's connections are no quota of requests";
  EXPECT_TRUE(Has(answer.body, "your address")) << answer.body;
  EXPECT_EQ(server_->Stats().refused_address_limit, 1U);
  EXPECT_TRUE(Connect("127.0.0.2").Handshake());
}

TEST_F(LimitsTest, BehindAProxyTheClientsAreCountedNotTheProxy) {
  settings_.trusted_proxies = "127.0.0.1";
  settings_.max_connections_per_address = 1;
  Start();
  RawClient one = Open("X-Forwarded-For: 192.0.2.1\r\n");
  RawClient two = Open("X-Forwarded-For: 192.0.2.2\r\n");
  EXPECT_EQ(AskToOpen("X-Forwarded-For: 192.0.2.1\r\n").status, 503);
}

TEST_F(LimitsTest, OnlyATrustedProxyNamesTheClient) {
  const struct {
    const char* name;
    const char* trusted;
    const char* fields;
    const char* address;
    bool secure;
  } cases[] = {
      {"the rightmost client that is no trusted proxy", "127.0.0.1, 10.0.0.0/8",
       "X-Forwarded-For: 203.0.113.9, 192.0.2.7, 10.1.2.3\r\nX-Forwarded-Proto: https\r\n", "192.0.2.7", true},
      {"X-Real-IP", "127.0.0.1, 10.0.0.0/8", "X-Real-IP: 2001:db8::5\r\n", "2001:db8::5", false},
      {"a stranger is not believed", "10.0.0.0/8", "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n",
       "127.0.0.1", false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    settings_.trusted_proxies = c.trusted;
    std::optional<bool> secure;
    behaviour_.on_open = [&](Connection& connection) { secure = connection.secure(); };
    Start();
    const RawClient client = Open(c.fields);
    ASSERT_TRUE(record_.Await("open " + std::string(c.address)));
    OnIoThread([] {});
    EXPECT_EQ(secure, c.secure);
    server_.reset();
  }
}

TEST_F(LimitsTest, ASilentClientIsPingedAndStaysWhenItAnswers) {
  settings_.ping_interval = kTimeToAnswer;
  Start();
  RawClient client = Open();
  AnswerPings(client, 2);
  ExpectEcho(client);
}

TEST_F(LimitsTest, AHalfOpenConnectionIsDropped) {
  settings_.ping_interval = milliseconds(100);
  Start();
  RawClient client = Open();
  EXPECT_TRUE(record_.Await("end: no answer to a ping"));
  EXPECT_EQ(server_->Stats().pings_unanswered, 1U);
}

TEST_F(LimitsTest, AMessageMustBeCompletedInTime) {
  settings_.ping_interval = milliseconds(100);
  Start();
  const std::string whole = ClientFrame(kText, "message");
  for (const std::string& part :
       {ClientFrame(kText, "part", false), whole.substr(0, 8), FrameHeader(0x80 | kText, 1000)}) {
    RawClient client = Open();
    client.Send(ClientFrame(kText, "whole") + part);
    const size_t ended = record_.Count("end");
    const auto answer = client.ReadText();
    EXPECT_EQ(answer, "whole");
    EXPECT_EQ(client.ReadCloseCode(), 1008);
    client.Send(CloseFrame(1008));
    EXPECT_TRUE(record_.Await("end", ended + 1));
  }
  EXPECT_EQ(server_->Stats().policy_closes, 3U);
}

TEST_F(LimitsTest, FragmentsNowAndThenDoNotCompleteAMessage) {
  settings_.ping_interval = milliseconds(100);
  Start();
  RawClient client = Open();
  client.Send(ClientFrame(kText, "x", false));
  EXPECT_TRUE(Eventually([&] {
    client.Send(ClientFrame(kContinuation, "x", false));
    return server_->Stats().policy_closes == 1;
  }));
  EXPECT_EQ(record_.Count("text"), 0U);
}

TEST_F(LimitsTest, AClientThatAnswersPingsNeedNotSendMessages) {
  settings_.ping_interval = kTimeToAnswer;
  Start();
  RawClient client = Open();
  ExpectEcho(client);
  AnswerPings(client, 3);
  EXPECT_EQ(server_->Stats().policy_closes, 0U);
}

TEST_F(LimitsTest, APausedClientIsNotTakenForDead) {
  settings_.ping_interval = milliseconds(100);
  behaviour_.on_text = [](Connection& c, std::string_view) { c.PauseReading(); };
  Start();
  RawClient paused = Open();
  paused.Text("x");
  ASSERT_TRUE(record_.Await("text"));
  RawClient silent = Open();
  EXPECT_TRUE(record_.Await("end: no answer to a ping")) << "the other";
  EXPECT_EQ(server_->Stats().connections, 1U);
}

// The client is asked for the rest of its message when it is read again, not for what it could not send meanwhile.
TEST_F(LimitsTest, APauseIsNoTimeInWhichAMessageHadToBeCompleted) {
  settings_.ping_interval = milliseconds(500);
  Connection* connection = nullptr;
  behaviour_.on_open = [&](Connection& c) {
    if (connection == nullptr) connection = &c;
  };
  Start();
  RawClient paused = Open();
  const std::string frame = ClientFrame(kText, "message");
  paused.Send(frame.substr(0, 8));
  ASSERT_TRUE(Eventually([&] { return server_->Stats().received_bytes == RawClient::HandshakeRequest().size() + 8; }));
  OnIoThread([&] { connection->PauseReading(); });
  // Waits as long as a silent client stays, which is as long as a message may take.
  RawClient silent = Open();
  ASSERT_TRUE(record_.Await("end: no answer to a ping"));
  RawClient late = Open();
  OnIoThread([&] { connection->ResumeReading(); });
  ASSERT_EQ(late.ReadFrame().value_or(RawFrame()).opcode, kPing) << "half as long again";
  paused.Send(frame.substr(8));
  EXPECT_EQ(paused.ReadText(), "message");
  EXPECT_EQ(server_->Stats().policy_closes, 0U);
}

TEST_F(LimitsTest, ManyConnectionsComeAndGo) {
  settings_.io_threads = 2;
  settings_.max_connections_per_address = 1000;
  Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int n = 0; n < 50; ++n) {
        RawClient client = Open();
        ExpectEcho(client);
        if (n % 2 == 0) client.Send(CloseFrame(1000));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(record_.Await("end", 200));
  EXPECT_TRUE(Eventually([&] { return server_->Stats().connections == 0; }));
  EXPECT_EQ(server_->Stats().accepted, 200U);
}

}  // namespace
}  // namespace weir
