// The order of turns on an I/O thread, and how much a turn may be.
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <boost/asio/post.hpp>
#include <future>

#include "relay/account/turn_meter.h"
#include "tests/fixtures/eventually.h"
#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

// Makes a block of deflate's fixed code: an x, repeated until there are this many bytes or some more.
std::string DeflatedBytes(size_t bytes) {
  std::string out;
  int used = 8;
  const auto put = [&](unsigned bits, int count, bool most_significant_first) {
    for (int n = 0; n < count; ++n) {
      if (used == 8) {
        out.push_back(0);
        used = 0;
      }
      const unsigned bit = bits >> (most_significant_first ? count - 1 - n : n) & 1;
      out.back() = static_cast<char>(static_cast<unsigned char>(out.back()) | bit << used++);
    }
  };
  put(0b010, 3, false);  // not the last block; the fixed code
  put(0x30 + 'x', 8, true);
  for (size_t n = 1; n < bytes; n += 258) {
    put(0b11000101, 8, true);  // 258 bytes
    put(0, 5, true);           // from one back
  }
  put(0, 7, true);       // the block's end
  put(0b000, 3, false);  // an empty one, of which the length is left out
  return out;
}

class TurnsTest : public ServerTest {
 protected:
  static constexpr size_t kFlooders = 64;

  TurnsTest() {
    behaviour_.on_text = [this](Connection& c, std::string_view) {
      if (c.address() == "127.0.0.1") flood_before_quiet_ = flood_;
      if (c.address() != "127.0.0.1") ++flood_;
    };
  }

  // Returns true once the server's kernel has all that the client sent: a busy machine hands it over later.
  static bool HasArrived(const RawClient& client) {
    int unacknowledged = 0;
    return Eventually([&] { return ioctl(client.socket(), SIOCOUTQ, &unacknowledged) == 0 && unacknowledged == 0; });
  }

  // Sends all of the flood over connections of one address, and then a word of another address's client, before the
  // thread looks at its sockets. Returns how many messages of the flood came before that word.
  size_t MessagesBefore(const std::string& flood, size_t flooders, std::string_view more = "") {
    std::vector<RawClient> clients;
    for (size_t n = 0; n < flooders; ++n) {
      clients.push_back(Connect("127.0.0.2"));
      EXPECT_TRUE(clients.back().Handshake(more));
    }
    return MessagesBefore(clients, flood);
  }
  size_t MessagesBefore(std::vector<RawClient>& clients, const std::string& flood) {
    RawClient quiet = Open();
    std::promise<void> all_sent;
    boost::asio::post(server_->executor(0), [&] { all_sent.get_future().wait(); });
    for (RawClient& client : clients) EXPECT_TRUE(client.Send(flood));
    EXPECT_TRUE(quiet.Text("a word") && HasArrived(quiet));
    all_sent.set_value();
    EXPECT_TRUE(record_.Await("text a word"));
    size_t before = 0;
    OnIoThread([&] { before = flood_before_quiet_; });
    return before;
  }

  // Does the same with requests over HTTP, which are answered so.
  size_t RequestsBefore(const std::function<HttpResponse()>& answer) {
    router_.Add("GET", "/dear", [this, answer](const HttpRequest&) {
      ++flood_;
      return answer();
    });
    Start();
    std::string flood;
    for (int n = 0; n < 100; ++n) flood += "GET /dear HTTP/1.1\r\nHost: localhost\r\n\r\n";
    std::vector<RawClient> clients;
    for (size_t n = 0; n < kFlooders; ++n) clients.push_back(Connect("127.0.0.2"));
    return MessagesBefore(clients, flood);
  }

  size_t flood_ = 0;
  size_t flood_before_quiet_ = 0;
};

TEST_F(TurnsTest, MessageFloodsDelayAQuietClientByFewTurns) {
  Start();
  std::string flood;
  for (int n = 0; n < 3'000; ++n) flood += ClientFrame(kText, R"(["CLOSE","a"])");
  // A turn is at most 250 of them.
  EXPECT_LE(MessagesBefore(flood, kFlooders), 1000U);
}

TEST_F(TurnsTest, AQuietClientGoesBeforeManyAddressesOfWhichEachOrdersMuch) {
  behaviour_.on_text = [this](Connection& c, std::string_view text) {
    if (text == "dear") c.Charge(kTurnWork);
    if (text == "dear") ++flood_;
    if (text == "a word") flood_before_quiet_ = flood_;
  };
  Start();
  std::vector<RawClient> clients;
  for (size_t n = 0; n < kFlooders; ++n) {
    clients.push_back(Connect("127.0.0." + std::to_string(2 + n)));
    EXPECT_TRUE(clients.back().Handshake());
  }
  RawClient quiet = Open();
  // A turn of each is expected to cost what its last ones did.
  for (size_t n = 1; n <= 8; ++n) {
    EXPECT_TRUE(quiet.Text("a first word"));
    EXPECT_TRUE(record_.Await("text a first word", n));
  }
  for (RawClient& client : clients) EXPECT_TRUE(client.Text("dear"));
  EXPECT_TRUE(record_.Await("text dear", kFlooders));
  std::promise<void> all_sent;
  boost::asio::post(server_->executor(0), [&] { all_sent.get_future().wait(); });
  for (RawClient& client : clients) EXPECT_TRUE(client.Text("dear"));
  EXPECT_TRUE(quiet.Text("a word") && HasArrived(quiet));
  all_sent.set_value();
  EXPECT_TRUE(record_.Await("text a word"));
  size_t before = 0;
  OnIoThread([&] { before = flood_before_quiet_; });
  EXPECT_LE(before, kFlooders + 4);
}

TEST_F(TurnsTest, FragmentFloodsDelayAQuietClientByFewTurns) {
  Start();
  std::string flood = ClientFrame(kText, "x", false);
  for (int n = 0; n < 1'500; ++n) flood += ClientFrame(kContinuation, "x", false);
  flood += ClientFrame(kContinuation, "x");
  // Six turns of one connection, at the least.
  EXPECT_EQ(MessagesBefore(flood, kFlooders), 0U);
}

TEST_F(TurnsTest, ControlFrameFloodsDelayAQuietClientByFewTurns) {
  Start();
  std::string flood;
  for (int n = 0; n < 1'500; ++n) flood += ClientFrame(n % 2 == 0 ? kPong : kPing, "");
  flood += ClientFrame(kText, "at last");
  EXPECT_EQ(MessagesBefore(flood, kFlooders), 0U);
}

TEST_F(TurnsTest, AChargeByAHandlerEndsTheTurn) {
  behaviour_.on_text = [this](Connection& c, std::string_view text) {
    if (text == "dear") c.Charge(kTurnWork);
    if (text != "dear") flood_before_quiet_ = flood_;
    if (text == "dear") ++flood_;
  };
  Start();
  std::string flood;
  for (int n = 0; n < 100; ++n) flood += ClientFrame(kText, "dear");
  EXPECT_LE(MessagesBefore(flood, kFlooders), 4U);
}

TEST_F(TurnsTest, WorkOutsideOfATurnDelaysTheNextTurnsOfItsAddress) {
  Connection* first = nullptr;
  behaviour_.on_open = [&](Connection& c) {
    if (first == nullptr) first = &c;
  };
  behaviour_.on_text = [](Connection&, std::string_view) {};
  Start();
  RawClient early = Open("", "127.0.0.2");
  RawClient late = Open("", "127.0.0.2");
  std::vector<RawClient> others;
  for (int n = 0; n < 8; ++n) others.push_back(Open("", "127.0.0.3"));
  std::promise<void> waits;
  std::promise<void> all_sent;
  boost::asio::post(server_->executor(0), [&] {
    first->Charge(100 * kTurnWork);
    waits.set_value();
    all_sent.get_future().wait();
  });
  waits.get_future().wait();
  EXPECT_TRUE(early.Text("early") && HasArrived(early));
  EXPECT_TRUE(late.Text("late") && HasArrived(late));
  for (RawClient& other : others) EXPECT_TRUE(other.Text("other") && HasArrived(other));
  all_sent.set_value();
  EXPECT_TRUE(record_.Await("text", others.size() + 2));
  std::string last;
  for (const std::string& event : record_.events())
    if (event.starts_with("text")) last = event;
  EXPECT_EQ(last, "text late");
}

TEST_F(TurnsTest, AChargeByAHandlerOfHttpEndsTheTurn) {
  EXPECT_LE(RequestsBefore([] {
              TurnMeter::Charge(kTurnWork);
              return HttpResponse{.body = "dear"};
            }),
            4U);
}

TEST_F(TurnsTest, AnAnswerOfHttpCostsByWhatWasWritten) {
  EXPECT_LE(RequestsBefore([] { return HttpResponse{.body = std::string(kTurnWork / kWrittenByteWork / 4, 'x')}; }),
            2U);
}

TEST_F(TurnsTest, InflatingAMessageGivesWayInBetween) {
  settings_.compression = true;
  Start();
  const std::string message = ClientFrame(kText, DeflatedBytes(260'000), true, 4);
  ASSERT_LT(message.size(), 2'000U);
  std::string flood;
  for (int n = 0; n < 20; ++n) flood += message;
  // One of them takes four turns.
  EXPECT_EQ(MessagesBefore(flood, 8, kDeflate), 0U);
  EXPECT_TRUE(record_.Await("text xxx", size_t{8} * 20)) << "all are delivered";
}

TEST_F(TurnsTest, ATurnThatIsOverGoesOnWithoutMoreInput) {
  behaviour_.on_text = [](Connection& c, std::string_view text) {
    c.Charge(kTurnWork);
    c.Send(std::string(text));
  };
  Start();
  RawClient client = Open();
  std::string texts;
  for (int n = 0; n < 50; ++n) texts += ClientFrame(kText, std::to_string(n));
  client.Send(texts);
  for (int n = 0; n < 50; ++n) ASSERT_EQ(client.ReadText(), std::to_string(n));
  EXPECT_EQ(record_.Count("read end"), 50U);
}

}  // namespace
}  // namespace weir
