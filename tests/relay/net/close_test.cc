#include <atomic>

#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

using CloseTest = ServerTest;

TEST_F(CloseTest, AnswersTheClientsCloseWithItsCode) {
  Start();
  RawClient client = Open();
  client.Send(CloseFrame(1000, "bye"));
  EXPECT_EQ(client.ReadCloseCode(), 1000);
  EXPECT_TRUE(client.AtEnd());
  EXPECT_TRUE(record_.Await("end: closed by the client, code 1000"));
  EXPECT_TRUE(Eventually([&] { return server_->Stats().connections == 0; }));
}

TEST_F(CloseTest, SendsQueuedMessagesFirst) {
  behaviour_.on_text = [](Connection& c, std::string_view) {
    for (int n = 0; n < 1000; ++n) c.Send(std::string(1000, 'x'));
    c.Close(CloseCode::kPolicy, "enough");
    c.Send("too late");
    c.Close(CloseCode::kNormal, "twice");
  };
  Start();
  RawClient client = Open();
  client.Text("go");
  for (int n = 0; n < 1000; ++n) ASSERT_EQ(client.ReadText()->size(), 1000U) << n;
  const auto close = client.ReadFrame();
  ASSERT_TRUE(close);
  EXPECT_EQ(close->close_code(), 1008);
  EXPECT_EQ(close->payload.substr(2), "enough");
  client.Text("not heard");
  client.Send(ClientFrame(kPing, "nor this"));
  client.Send(CloseFrame(1008));
  EXPECT_TRUE(client.AtEnd());
  EXPECT_FALSE(client.was_reset());
  EXPECT_TRUE(record_.Await("end: closed, 1008: enough"));
  EXPECT_EQ(server_->Stats().policy_closes, 1U);
  EXPECT_EQ(record_.Count("text"), 1U);
}

TEST_F(CloseTest, ClosesWhilePausedAndInTheMiddleOfAMessage) {
  behaviour_.on_text = [](Connection& c, std::string_view) {
    c.PauseReading();
    c.Close(CloseCode::kOverloaded, "");
  };
  Start();
  RawClient client = Open();
  client.Send(ClientFrame(kText, "go") + ClientFrame(kText, std::string(100'000, 'x')).substr(0, 50'000));
  EXPECT_EQ(client.ReadCloseCode(), 1013);
  client.Send(ClientFrame(kText, std::string(100'000, 'x')).substr(50'000) + CloseFrame(1013));
  EXPECT_TRUE(client.AtEnd());
  EXPECT_TRUE(record_.Await("end: closed, 1013"));
}

TEST_F(CloseTest, AReasonCannotBeginALineOfTheLog) {
  behaviour_.on_text = [](Connection& c, std::string_view text) { c.Close(CloseCode::kNormal, text); };
  Start();
  RawClient client = Open();
  client.Text("a\nb");
  EXPECT_EQ(client.ReadCloseCode(), 1000);
  client.Send(CloseFrame(1000));
  EXPECT_TRUE(record_.Await("end: closed, 1000: a\\x0ab"));
  EXPECT_EQ(server_->Stats().policy_closes, 0U);
}

TEST_F(CloseTest, ALongReasonIsCut) {
  behaviour_.on_text = [](Connection& c, std::string_view) { c.Close(CloseCode::kPolicy, std::string(500, 'r')); };
  Start();
  RawClient client = Open();
  client.Text("go");
  const auto close = client.ReadFrame();
  ASSERT_TRUE(close);
  EXPECT_EQ(close->payload.size(), 125U);
}

TEST_F(CloseTest, DropsAClientThatDoesNotAnswer) {
  behaviour_.on_text = [](Connection& c, std::string_view) { c.Close(CloseCode::kNormal, "bye"); };
  settings_.ping_interval = std::chrono::milliseconds(100);
  Start();
  RawClient client = Open();
  client.Text("go");
  EXPECT_EQ(client.ReadCloseCode(), 1000);
  EXPECT_TRUE(record_.Await("end: closed, without an answer"));
}

TEST_F(CloseTest, AHandlerMaySendAndCloseWhenItIsAskedFromTimeToTime) {
  settings_.ping_interval = std::chrono::milliseconds(200);
  std::atomic<int> ticks_after_close = -1;
  behaviour_.on_tick = [&](Connection& c) {
    if (++ticks_after_close > 0) return;
    c.Send("a tick");
    c.Close(CloseCode::kNormal, "bye");
  };
  Start();
  RawClient client = Open();
  EXPECT_EQ(client.ReadText(), "a tick");
  EXPECT_EQ(client.ReadCloseCode(), 1000);
  EXPECT_TRUE(record_.Await("end: closed, without an answer"));
  EXPECT_EQ(ticks_after_close, 0);
}

TEST_F(CloseTest, TellsWhenTheClientIsGone) {
  Start();
  {
    RawClient client = Open();
    client.Text("x");
    client.ReadText();
  }
  EXPECT_TRUE(record_.Await("end: the client hung up"));
}

TEST_F(CloseTest, AFrameThatWasCutOffIsNotAMessage) {
  Start();
  {
    RawClient client = Open();
    client.Send(ClientFrame(kText, "whole") + ClientFrame(kText, "cut off").substr(0, 6));
    EXPECT_EQ(client.ReadText(), "whole");
  }
  EXPECT_TRUE(record_.Await("end: the client hung up"));
  EXPECT_EQ(record_.Count("text"), 1U);
}

TEST_F(CloseTest, EndsOnceWhateverTheCause) {
  behaviour_.on_text = [](Connection& c, std::string_view) {
    c.Send("answer");
    c.Close(CloseCode::kNormal, "");
  };
  Start();
  for (int n = 0; n < 50; ++n) {
    RawClient client = Open();
    client.Send(ClientFrame(kText, "x") + ClientFrame(3, "broken") + CloseFrame(1000));
  }
  EXPECT_TRUE(record_.Await("end", 50));
  EXPECT_TRUE(Eventually([&] { return server_->Stats().connections == 0; }));
  EXPECT_EQ(record_.Count("end"), 50U);
  EXPECT_TRUE(Eventually([&] { return server_->Stats().pending_bytes == 0; }));
}

}  // namespace
}  // namespace weir
