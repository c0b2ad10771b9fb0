#include "relay/net/places.h"
#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

using LimitsTest = ServerTest;

// Enough for a client on a busy machine.
constexpr milliseconds kTimeToAnswer{1000};

TEST_F(LimitsTest, OneConnectionTooManyIsToldSo) {
  settings_.max_connections = 2;
  Start();
  RawClient one = Open();
  {
    RawClient two = Open();
    RawClient three = Connect();
    three.Send(RawClient::HandshakeRequest());
    const auto answer = three.ReadAnswer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 503);
    EXPECT_NE(answer->body.find("all the 2 connections"), std::string::npos) << answer->body;
    EXPECT_TRUE(three.AtEnd());
    EXPECT_EQ(server_->Stats().refused_limit, 1U);
  }
  // A place that was given back can be taken.
  EXPECT_TRUE(Eventually([&] { return Connect().Handshake(); }));
  one.Text("unhurt");
  EXPECT_EQ(one.ReadText(), "unhurt");
}

TEST_F(LimitsTest, IfAllIsFullANewcomerDisplacesTheMostSilentConnection) {
  settings_.max_connections = 4;
  Start();
  std::vector<RawClient> full;
  for (int n = 0; n < 4; ++n) {
    full.push_back(Connect(n < 3 ? "127.0.0.2" : "127.0.0.3"));
    ASSERT_TRUE(full.back().Handshake());
  }
  full[0].Text("not silent");
  ASSERT_EQ(full[0].ReadText(), "not silent");
  RawClient newcomer = Connect("127.0.0.4");
  ASSERT_TRUE(newcomer.Handshake());
  EXPECT_TRUE(full[1].AtEnd());
  EXPECT_TRUE(record_.Await("end: its place was needed"));
  for (RawClient* client : {&full[0], &full[2], &full[3], &newcomer}) {
    client->Text("unhurt");
    EXPECT_EQ(client->ReadText(), "unhurt");
  }
  EXPECT_EQ(server_->Stats().gave_way, 1U);
}

TEST_F(LimitsTest, IfAllIsFullThisMachineIsStillAnswered) {
  settings_.max_connections = 1;
  router_.Add("GET", "/healthz", [](const HttpRequest&) { return HttpResponse{.body = "alive\n"}; });
  Start();
  RawClient full = Connect("127.0.0.2");
  ASSERT_TRUE(full.Handshake());
  const auto ask = [this](const std::string& from) {
    RawClient client = Connect(from);
    client.Send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return client.ReadAnswer().value_or(RawAnswer()).status;
  };
  EXPECT_EQ(ask("127.0.0.3"), 503);
  std::vector<RawClient> silent;
  for (size_t n = 0; n < Places::kMostOfHere + 8; ++n) {
    silent.push_back(Connect());
    EXPECT_EQ(ask("127.0.0.1"), 200) << n;
  }
  RawClient talker = Connect();
  talker.Send(RawClient::HandshakeRequest());
  EXPECT_EQ(talker.ReadAnswer().value_or(RawAnswer()).status, 503) << "these places are for requests";
}

TEST_F(LimitsTest, BehindAProxyAClientWithMostGivesWayToOneWithNone) {
  settings_.trusted_proxies = "127.0.0.1";
  settings_.max_connections = 3;
  Start();
  std::vector<RawClient> full;
  for (int n = 0; n < 3; ++n) full.push_back(Open("X-Forwarded-For: 192.0.2.1\r\n"));
  RawClient newcomer = Open("X-Forwarded-For: 192.0.2.2\r\n");
  EXPECT_TRUE(record_.Await("end: its place was needed"));
  newcomer.Text("a word");
  EXPECT_EQ(newcomer.ReadText(), "a word");
}

TEST_F(LimitsTest, OneOfAnAddressTooManyIsToldSo) {
  settings_.max_connections_per_address = 2;
  Start();
  RawClient one = Open();
  RawClient two = Open();
  RawClient three = Connect();
  three.Send(RawClient::HandshakeRequest());
  const auto answer = three.ReadAnswer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503) << "the address's connections are no quota of requests";
  EXPECT_NE(answer->body.find("your address"), std::string::npos);
  EXPECT_EQ(server_->Stats().refused_address_limit, 1U);
  EXPECT_TRUE(Connect("127.0.0.2").Handshake());
}

TEST_F(LimitsTest, BehindAProxyTheClientsAreCountedNotTheProxy) {
  settings_.trusted_proxies = "127.0.0.1";
  settings_.max_connections_per_address = 1;
  Start();
  RawClient one = Open("X-Forwarded-For: 192.0.2.1\r\n");
  RawClient two = Open("X-Forwarded-For: 192.0.2.2\r\n");
  RawClient again = Connect();
  again.Send(RawClient::HandshakeRequest("X-Forwarded-For: 192.0.2.1\r\n"));
  EXPECT_EQ(again.ReadAnswer()->status, 503);
}

TEST_F(LimitsTest, ATrustedProxyNamesTheClient) {
  settings_.trusted_proxies = "127.0.0.1, 10.0.0.0/8";
  bool secure = false;
  behaviour_.on_open = [&](Connection& c) { secure = c.secure(); };
  Start();
  RawClient client = Open("X-Forwarded-For: 203.0.113.9, 192.0.2.7, 10.1.2.3\r\nX-Forwarded-Proto: https\r\n");
  ASSERT_TRUE(record_.Await("open 192.0.2.7"));
  EXPECT_TRUE(secure);
  RawClient real = Open("X-Real-IP: 2001:db8::5\r\n");
  EXPECT_TRUE(record_.Await("open 2001:db8::5"));
}

TEST_F(LimitsTest, AStrangerIsNotBelieved) {
  settings_.trusted_proxies = "10.0.0.0/8";
  bool secure = true;
  behaviour_.on_open = [&](Connection& c) { secure = c.secure(); };
  Start();
  RawClient client = Open("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n");
  ASSERT_TRUE(record_.Await("open 127.0.0.1"));
  EXPECT_FALSE(secure);
}

TEST_F(LimitsTest, ASilentClientIsPingedAndStaysWhenItAnswers) {
  settings_.ping_interval = kTimeToAnswer;
  Start();
  RawClient client = Open();
  for (int n = 0; n < 2; ++n) {
    const auto ping = client.ReadFrame();
    ASSERT_TRUE(ping);
    ASSERT_EQ(ping->opcode, kPing);
    client.Send(ClientFrame(kPong, ping->payload));
  }
  client.Text("alive");
  EXPECT_EQ(client.ReadText(), "alive");
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
  client.Text("whole");
  EXPECT_EQ(client.ReadText(), "whole");
  for (int n = 0; n < 3; ++n) {
    const auto ping = client.ReadFrame();
    ASSERT_TRUE(ping);
    ASSERT_EQ(ping->opcode, kPing);
    client.Send(ClientFrame(kPong, ping->payload));
  }
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
        RawClient client = Connect();
        ASSERT_TRUE(client.Handshake());
        client.Text("x");
        ASSERT_EQ(client.ReadText(), "x");
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
