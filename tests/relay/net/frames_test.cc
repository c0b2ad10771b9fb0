#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

class FramesTest : public ServerTest {
 protected:
  // Returns the close code with which the server answers this.
  int CloseCodeFor(const std::string& bytes) {
    RawClient client = Open();
    EXPECT_TRUE(client.Send(bytes));
    const int code = client.ReadCloseCode();
    EXPECT_TRUE(client.AtEnd());
    EXPECT_FALSE(client.was_reset());
    return code;
  }
};

TEST_F(FramesTest, EchoesMessagesOfEveryLengthForm) {
  Start();
  RawClient client = Open();
  for (const size_t bytes : {0U, 1U, 125U, 126U, 127U, 1535U, 1536U, 1537U, 65535U, 65536U, 65537U, 262144U}) {
    const std::string text(bytes, 'x');
    ASSERT_TRUE(client.Text(text));
    ASSERT_EQ(client.ReadText(), text) << bytes;
  }
}

TEST_F(FramesTest, JoinsFragmentsWithControlFramesBetweenThem) {
  Start();
  RawClient client = Open();
  client.Send(ClientFrame(kText, "one ", false) + ClientFrame(kPing, "still there?") +
              ClientFrame(kContinuation, "two ", false) + ClientFrame(kPong, "") +
              ClientFrame(kContinuation, "", false) + ClientFrame(kContinuation, "three"));
  const auto pong = client.ReadFrame();
  ASSERT_TRUE(pong);
  EXPECT_EQ(pong->opcode, kPong);
  EXPECT_EQ(pong->payload, "still there?");
  EXPECT_EQ(client.ReadText(), "one two three");
}

TEST_F(FramesTest, AnswersAPingAlone) {
  Start();
  RawClient client = Open();
  for (const std::string payload : {"", "x", "0123456789"}) {
    client.Send(ClientFrame(kPing, payload));
    const auto pong = client.ReadFrame();
    ASSERT_TRUE(pong);
    EXPECT_EQ(pong->opcode, kPong);
    EXPECT_EQ(pong->payload, payload);
  }
}

TEST_F(FramesTest, TakesOneBytePerSegment) {
  Start();
  RawClient client = Open();
  for (const char c :
       ClientFrame(kText, "slowly") + ClientFrame(kPing, "p") + ClientFrame(kText, std::string(200, 'y')))
    ASSERT_TRUE(client.Send({&c, 1}));
  EXPECT_EQ(client.ReadText(), "slowly");
  EXPECT_EQ(client.ReadText(), std::string(200, 'y'));
}

TEST_F(FramesTest, TakesManySmallFramesOfOneSegment) {
  constexpr size_t kMany = 30'000;
  size_t count = 0;
  behaviour_.on_text = [&](Connection& c, std::string_view) {
    if (++count == kMany) c.Send("all");
  };
  Start();
  RawClient client = Open();
  std::string frames;
  for (size_t n = 0; n < kMany; ++n) frames += ClientFrame(kText, "");
  ASSERT_TRUE(client.Send(frames));
  EXPECT_EQ(client.ReadText(), "all");
  // Reads end once a turn, not once a message.
  EXPECT_LT(record_.Count("read end"), kMany / 50);
  EXPECT_GE(record_.Count("read end"), 1U);
}

TEST_F(FramesTest, ClosesForABrokenProtocol) {
  Start();
  const struct {
    const char* name;
    std::string bytes;
  } cases[] = {
      {"the first reserved bit", ClientFrame(kText, "x", true, 4)},
      {"the last reserved bit", ClientFrame(kText, "x", true, 1)},
      {"a frame without a mask", FrameHeader(0x80 | kText, 5, false) + "plain"},
      {"an unknown opcode for data", ClientFrame(3, "x")},
      {"an unknown opcode for control", ClientFrame(11, "")},
      {"a control frame in fragments", ClientFrame(kPing, "x", false)},
      {"a long control frame", ClientFrame(kPing, std::string(126, 'x'))},
      {"a continuation of no message", ClientFrame(kContinuation, "x")},
      {"a message within another", ClientFrame(kText, "x", false) + ClientFrame(kText, "y")},
      {"half a close code", ClientFrame(kClose, "x")},
      {"a close code that is not sent", CloseFrame(1005)},
  };
  for (const auto& c : cases) EXPECT_EQ(CloseCodeFor(c.bytes), 1002) << c.name;
  EXPECT_EQ(server_->Stats().protocol_errors, std::size(cases));
  EXPECT_TRUE(record_.Await("end: protocol error", std::size(cases)));
}

TEST_F(FramesTest, ClosesForWhatIsNotUtf8) {
  Start();
  const struct {
    const char* name;
    std::string bytes;
  } cases[] = {
      {"a byte that no character has", ClientFrame(kText, "\xff")},
      {"a character that is cut off", ClientFrame(kText, "\xc3")},
      {"a surrogate", ClientFrame(kText, "\xed\xa0\x80")},
      {"a character that does not go on in the next fragment",
       ClientFrame(kText, "\xe2\x82", false) + ClientFrame(kContinuation, "x")},
  };
  for (const auto& c : cases) EXPECT_EQ(CloseCodeFor(c.bytes), 1007) << c.name;
  EXPECT_EQ(record_.Count("text"), 0U);
}

TEST_F(FramesTest, ACharacterMayBeSplitAcrossFragments) {
  Start();
  RawClient client = Open();
  client.Send(ClientFrame(kText, "\xe2", false) + ClientFrame(kContinuation, "\x82", false) +
              ClientFrame(kContinuation, "\xac"));
  EXPECT_EQ(client.ReadText(), "\xe2\x82\xac");
}

TEST_F(FramesTest, ClosesForBinary) {
  Start();
  RawClient client = Open();
  client.Send(ClientFrame(kBinary, "\x01\x02"));
  EXPECT_EQ(client.ReadCloseCode(), 1003);
  client.Send(CloseFrame(1003));
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(FramesTest, ClosesForTooLongAMessageBeforeItComes) {
  settings_.max_message_bytes = 100'000;
  Start();
  EXPECT_EQ(CloseCodeFor(FrameHeader(0x80 | kText, 64 << 20)), 1009);
  EXPECT_EQ(CloseCodeFor(FrameHeader(0x80 | kText, 100'001)), 1009);
  EXPECT_EQ(CloseCodeFor(ClientFrame(kText, std::string(60'000, 'x'), false) +
                         ClientFrame(kContinuation, std::string(60'000, 'x'))),
            1009);
  RawClient client = Open();
  client.Text(std::string(100'000, 'x'));
  EXPECT_EQ(client.ReadText()->size(), 100'000U);
}

TEST_F(FramesTest, SaysWhyItClosesForWhatWasRefused) {
  settings_.max_message_bytes = 100'000;
  Start();
  const auto reason = [&](const std::string& bytes) {
    RawClient client = Open();
    client.Send(bytes);
    const auto close = client.ReadFrame().value_or(RawFrame());
    return close.opcode == kClose ? std::to_string(close.close_code()) + " " + close.payload.substr(2) : "no close";
  };
  EXPECT_EQ(reason(FrameHeader(0x80 | kText, 100'001)), "1009 a message may have at most 100000 bytes");
  EXPECT_EQ(reason(ClientFrame(kText, "\xff")), "1007 a message must be valid UTF-8");
  EXPECT_TRUE(reason(ClientFrame(3, "x")).starts_with("1002 protocol error: "));
}

TEST_F(FramesTest, SendsAnswersBeforeTheCloseForABrokenProtocol) {
  Start();
  RawClient client = Open();
  client.Send(ClientFrame(kText, "one") + ClientFrame(kText, std::string(70'000, 'x')) + ClientFrame(3, "broken") +
              ClientFrame(kText, "not heard"));
  EXPECT_EQ(client.ReadText(), "one");
  EXPECT_EQ(client.ReadText()->size(), 70'000U);
  EXPECT_EQ(client.ReadCloseCode(), 1002);
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(record_.Count("text"), 2U);
}

TEST_F(FramesTest, AwaitsAnswersBeforeTheCloseForABrokenProtocol) {
  Connection* connection = nullptr;
  std::function<void()> finish;
  behaviour_.on_text = [](Connection&, std::string_view) {};
  behaviour_.on_last_text = [&](Connection& c, std::function<void()> done) {
    connection = &c;
    finish = std::move(done);
    record_.Add("last text");
  };
  Start();
  RawClient client = Open();
  client.Send(ClientFrame(kText, "question") + ClientFrame(3, "broken"));
  ASSERT_TRUE(record_.Await("last text"));
  for (const size_t bytes : {1U, 125U, 126U, 65535U, 65536U})
    OnIoThread([&] { connection->Send(std::string(bytes, 'x')); });
  OnIoThread([&] { finish(); });
  for (const size_t bytes : {1U, 125U, 126U, 65535U, 65536U}) EXPECT_EQ(client.ReadText()->size(), bytes);
  EXPECT_EQ(client.ReadCloseCode(), 1002);
  EXPECT_TRUE(record_.Await("end: protocol error"));
}

TEST_F(FramesTest, ABrokenProtocolIsClosedThoughTheHandlerNeverFinishes) {
  settings_.ping_interval = std::chrono::milliseconds(100);
  behaviour_.on_last_text = [](Connection&, const std::function<void()>&) {};
  Start();
  RawClient client = Open();
  client.Send(ClientFrame(3, "broken"));
  EXPECT_EQ(client.ReadCloseCode(), 1002);
}

TEST_F(FramesTest, TheCloseFrameArrivesThoughTheClientGoesOnSending) {
  Start();
  RawClient client = Open();
  client.Send(FrameHeader(0x80 | kText, 64 << 20) + std::string(500'000, 'x'));
  EXPECT_EQ(client.ReadCloseCode(), 1009);
}

TEST_F(FramesTest, ABombIsNoLongerThanAMessageMayBe) {
  settings_.compression = true;
  Start();
  RawClient client = Open(kDeflate);
  // Stored blocks, each of 65535 times x; no compression is needed to be too long.
  std::string bomb;
  for (int n = 0; n < 5; ++n) bomb += std::string("\x00\xff\xff\x00\x00", 5) + std::string(65535, 'x');
  bomb += std::string("\x00", 1);
  client.Send(ClientFrame(kText, bomb, true, 4));
  EXPECT_EQ(client.ReadCloseCode(), 1009);
}

TEST_F(FramesTest, CompressedMessagesOfEveryLengthComeWhole) {
  settings_.compression = true;
  settings_.max_message_bytes = 300'000;
  Start();
  RawClient client = Open(kDeflate);
  std::vector<size_t> lengths;
  behaviour_.on_text = [&](Connection& c, std::string_view text) {
    lengths.push_back(text.size());
    c.Send("taken");
  };
  // The sizes are about what is inflated at once, stored, in one frame and in two.
  for (const size_t bytes : {1U, 8191U, 8192U, 8193U, 16384U, 65535U}) {
    const char head[] = {0, static_cast<char>(bytes & 255), static_cast<char>(bytes >> 8),
                         static_cast<char>(~bytes & 255), static_cast<char>(~bytes >> 8 & 255)};
    const std::string deflated = std::string(head, sizeof head) + std::string(bytes, 'x') + std::string(1, '\0');
    client.Send(ClientFrame(kText, deflated, true, 4) + ClientFrame(kText, deflated.substr(0, 5), false, 4) +
                ClientFrame(kContinuation, deflated.substr(5)));
    EXPECT_EQ(client.ReadText(), "taken");
    EXPECT_EQ(client.ReadText(), "taken");
    EXPECT_EQ(lengths, std::vector<size_t>(2, bytes));
    OnIoThread([&] { lengths.clear(); });
  }
}

}  // namespace
}  // namespace weir
