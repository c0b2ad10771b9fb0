// Memory that a client makes the server hold is counted against its address, bounded there, and given back.
#include <future>

#include "tests/fixtures/failing_memory.h"
#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

class HeldTest : public ServerTest {
 protected:
  HeldTest() {
    router_.Add("POST", "/take",
                [](const HttpRequest& r) { return HttpResponse{.body = std::to_string(r.body.size())}; });
    router_.Add("GET", "/", [](const HttpRequest&) { return HttpResponse{.body = "landing"}; });
  }
  // Starts with a ledger that the test can look into.
  void StartWithLedger() {
    ledger_ = std::make_shared<Ledger>(LedgerBoundsOf(settings_));
    Start();
  }
  static constexpr size_t kWhole = 250'000;
  static constexpr size_t kParts = 4;
  const std::string whole_ = ClientFrame(kText, std::string(kWhole, 'x'));
  const std::string part_ = whole_.substr(0, 249'000);
  static constexpr size_t kBegin = 30'000;  // bytes of a message that is not whole

  // Fills an address, so that there is no room for another one in 1 MiB.
  std::vector<RawClient> PartsThatFillAnAddress() {
    std::vector<RawClient> clients;
    for (size_t n = 0; n < kParts; ++n) {
      clients.push_back(Open("", "127.0.0.2"));
      EXPECT_TRUE(clients.back().Send(part_));
    }
    EXPECT_TRUE(Eventually([&] { return ledger_->bytes() >= kParts * part_.size(); }));
    return clients;
  }
  static std::string HeadOf(const std::string& target, size_t body_bytes, const std::string& method = "POST") {
    return method + " " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body_bytes) + "\r\n\r\n";
  }
};

TEST_F(HeldTest, APartOfAMessageCountsUntilItIsWhole) {
  StartWithLedger();
  RawClient client = Open();
  const std::string frame = ClientFrame(kText, std::string(200'000, 'x'));
  client.Send(std::string_view(frame).substr(0, 150'000));
  EXPECT_TRUE(Eventually([&] { return ledger_->bytes() >= 140'000; }));
  client.Send(std::string_view(frame).substr(150'000));
  EXPECT_EQ(client.ReadText()->size(), 200'000U);
  EXPECT_TRUE(Eventually([&] { return ledger_->bytes() == 0; }));
}

TEST_F(HeldTest, AMessageForWhichThereIsNoRoomWaitsUntilThereIs) {
  settings_.max_address_mb = 1;
  behaviour_.on_text = [](Connection& c, std::string_view text) { c.Send(std::to_string(text.size())); };
  StartWithLedger();
  std::vector<RawClient> clients = PartsThatFillAnAddress();
  for (int n = 0; n < 20; ++n) {
    clients.push_back(Open("", "127.0.0.2"));
    ASSERT_TRUE(clients.back().Send(whole_.substr(0, kBegin)));
  }
  RawClient beside = Open("", "127.0.0.2");
  beside.Text("small");
  EXPECT_EQ(beside.ReadText(), "5") << "what is small needs no room";
  RawClient other = Open();
  other.Text(std::string(200'000, 'x'));
  EXPECT_EQ(other.ReadText(), "200000") << "another address is unhurt";
  EXPECT_TRUE(Eventually([&] { return ledger_->bytes() <= (1U << 20) + (64U << 10); }));
  for (size_t n = 0; n < clients.size(); ++n) clients[n].Send(whole_.substr(n < kParts ? part_.size() : kBegin));
  for (RawClient& client : clients) EXPECT_EQ(client.ReadText(), std::to_string(kWhole));
  EXPECT_TRUE(Eventually([&] { return ledger_->bytes() == 0; }));
}

TEST_F(HeldTest, AMessageThatWaitsForRoomTooLongIsRefused) {
  settings_.max_address_mb = 1;
  settings_.ping_interval = std::chrono::milliseconds(1500);
  StartWithLedger();
  const std::vector<RawClient> clients = PartsThatFillAnAddress();
  RawClient late = Open("", "127.0.0.2");
  ASSERT_TRUE(late.Send(whole_.substr(0, kBegin)));
  EXPECT_EQ(late.ReadCloseCode(), 1013);
}

TEST_F(HeldTest, InflatedBytesWaitForRoom) {
  settings_.max_address_mb = 1;
  settings_.compression = true;
  StartWithLedger();
  std::vector<RawClient> clients = PartsThatFillAnAddress();
  RawClient late = Open(kDeflate, "127.0.0.2");
  // Stored, not compressed: its length is known no sooner than that of any other message.
  constexpr unsigned kBytes = 60'000;
  const std::string head{'\0', static_cast<char>(kBytes & 255), static_cast<char>(kBytes >> 8),
                         static_cast<char>(~kBytes & 255), static_cast<char>(~kBytes >> 8 & 255)};
  ASSERT_TRUE(late.Send(ClientFrame(kText, head + std::string(kBytes, 'x') + std::string(1, '\0'), true, 4)));
  RawClient beside = Open("", "127.0.0.2");
  ExpectEcho(beside, "small");
  EXPECT_TRUE(Eventually([&] { return ledger_->bytes() >= kParts * kWhole + 20'000; }))
      << "it is read as far as there is room";
  EXPECT_EQ(record_.Count("text x"), 0U);
  for (int n = 0; n < 2; ++n) clients.pop_back();
  EXPECT_TRUE(record_.Await("text x"));
}

TEST_F(HeldTest, GivesBackBytesThatWaitedForAClientThatIsGone) {
  settings_.max_pending_bytes = 64 << 10;
  behaviour_.on_text = [](Connection& c, std::string_view) {
    for (int n = 0; n < 200; ++n) c.Send(std::string(60'000, 'x'));
  };
  StartWithLedger();
  RawClient stays = Open();  // the address's account goes on
  RawClient stuck(server_->port(), "127.0.0.1", 4096);
  ASSERT_TRUE(stuck.Handshake());
  stuck.Text("go");
  EXPECT_TRUE(record_.Await("end: too slow"));
  EXPECT_TRUE(Eventually([&] { return ledger_->bytes() == 0; }));
}

TEST_F(HeldTest, AClientThatTakesNoAnswersIsReadNoFurther) {
  settings_.max_address_mb = 1;
  settings_.max_pending_bytes = 64 << 20;
  behaviour_.on_text = [](Connection& c, std::string_view) { c.Send(std::string(1000, 'x')); };
  StartWithLedger();
  RawClient other = Open();
  const struct {
    std::string message;
    size_t count;
    int answer;
  } cases[] = {{ClientFrame(kText, "ask"), 3000, kText}, {ClientFrame(kPing, std::string(125, 'p')), 20'000, kPong}};
  for (const auto& c : cases) {
    RawClient takes_none(server_->port(), "127.0.0.2", 4096);
    ASSERT_TRUE(takes_none.Handshake());
    std::string messages;
    for (size_t n = 0; n < c.count; ++n) messages += c.message;
    auto sent = std::async(std::launch::async, [&] { return takes_none.Send(messages); });
    EXPECT_TRUE(Eventually([&] { return ledger_->bytes() >= 1U << 20; })) << "answers that wait count";
    for (int n = 0; n < 200; ++n) {
      other.Text("ask");
      EXPECT_EQ(other.ReadText()->size(), 1000U) << "another address is unhurt";
    }
    EXPECT_LE(ledger_->bytes(), (1U << 20) + (256U << 10)) << "the answers to requests that wait are not made";
    for (size_t n = 0; n < c.count; ++n) {
      const std::optional<RawFrame> frame = takes_none.ReadFrame();
      ASSERT_TRUE(frame && frame->opcode == c.answer) << n;
    }
    EXPECT_TRUE(sent.get());
  }
}

// The request of a proxy's client has counted in the account of the proxy until the request names the client.
TEST_F(HeldTest, WhereThereIsNoMemoryToNameAClientItsBytesAreGivenBackOnce) {
  settings_.trusted_proxies = "127.0.0.1";
  StartWithLedger();
  constexpr size_t kFirst = 9'000;
  const std::string request =
      RawClient::HandshakeRequest("X-Forwarded-For: 192.0.2.1\r\nX-Long: " + std::string(10'000, 'x') + "\r\n");
  bool failed = true;
  for (size_t n = 1; failed; ++n) {
    {
      RawClient client = ConnectAndSend(request.substr(0, kFirst));
      ASSERT_TRUE(Eventually([&] { return ledger_->bytes() >= kFirst / 2; })) << "the field that is not whole";
      OnIoThread([n] { FailAllocation(n); });
      client.Send(request.substr(kFirst));
      (void)client.ReadAnswer();
      OnIoThread([&failed] { failed = EndFailing(); });
    }
    ASSERT_TRUE(Eventually([&] { return ledger_->bytes() == 0; })) << n << ": " << ledger_->bytes();
  }
}

// The room comes before the connection's end, or between the end and the last call of its handler.
TEST_F(HeldTest, RoomThatComesAsAConnectionEndsIsLeftToOthers) {
  settings_.max_address_mb = 1;
  settings_.max_pending_bytes = 64 << 10;
  Connection* connection = nullptr;
  behaviour_.on_open = [&](Connection& c) { connection = &c; };
  StartWithLedger();
  for (const bool ends_first : {false, true}) {
    RawClient late(server_->port(), "127.0.0.2", 4096);
    ASSERT_TRUE(late.Handshake());
    const uint64_t received = server_->Stats().received_bytes;
    HeldBytes others;
    OnIoThread([&] { others = HeldBytes(connection->account()->OpenBeside({}), 1 << 20); });
    ASSERT_TRUE(late.Send(whole_.substr(0, kBegin)));
    // The rest is read no sooner than there is room.
    ASSERT_TRUE(Eventually([&] { return server_->Stats().received_bytes > received; }));
    for (int n = 0; n < 4; ++n) OnIoThread([] {});
    EXPECT_LT(server_->Stats().received_bytes, received + kBegin);
    OnIoThread([&] {
      if (!ends_first) others.GiveBack(others.bytes());
      for (int n = 0; n < 200; ++n) connection->Send(std::string(60'000, 'x'));
      if (ends_first) others.GiveBack(others.bytes());
    });
    EXPECT_TRUE(record_.Await("end: too slow", ends_first ? 2 : 1));
    EXPECT_TRUE(Eventually([&] { return ledger_->bytes() == 0; }));
  }
  RawClient other = Open("", "127.0.0.2");
  ExpectEcho(other, "room");
}

TEST_F(HeldTest, APieceThatAPauseLeftCounts) {
  Connection* connection = nullptr;
  behaviour_.on_text = [&](Connection& c, std::string_view) {
    if (connection == nullptr) connection = &c;  // only once: the test may use it when the second text comes
    c.PauseReading();
  };
  StartWithLedger();
  RawClient client = Open();
  // The second text is more than Beast takes over at once.
  client.Send(ClientFrame(kText, "1") + ClientFrame(kText, "2" + std::string(10'000, 'x')));
  ASSERT_TRUE(record_.Await("text 1"));
  EXPECT_TRUE(Eventually([&] { return ledger_->bytes() == 64 << 10; }));
  OnIoThread([&] { connection->ResumeReading(); });
  ASSERT_TRUE(record_.Await("text 2"));
  EXPECT_TRUE(Eventually([&] { return ledger_->bytes() == 0; }));
  OnIoThread([] {});  // the handler looks at what is here
}

TEST_F(HeldTest, ABodyThatNoRouteWantsIsAnsweredFromTheHeader) {
  router_.AddWording("/v1/", [](HttpResponse plain, const HttpRequest&) {
    plain.content_type = "text/worded";
    plain.body = "{" + plain.body + "}";
    return plain;
  });
  Start();
  const struct {
    std::string method;
    std::string target;
    int status;
  } cases[] = {{"POST", "/nowhere", 404},
               {"PUT", "/take", 405},
               {"POST", "/", 405},
               {"GET", "/", 413},
               {"HEAD", "/nowhere", 413}};
  for (const auto& c : cases) {
    RawClient client = ConnectAndSend(HeadOf(c.target, 1'000'000, c.method));
    const RawAnswer answer = client.Answer(c.method != "HEAD");
    EXPECT_EQ(answer.status, c.status) << c.method << " " << c.target;
    EXPECT_EQ(answer.headers.at("connection"), "close");
  }
  RawClient worded = ConnectAndSend(HeadOf("/v1/nowhere", 1'000'000));
  EXPECT_EQ(worded.Answer().body, "{nothing is at /v1/nowhere\n}");
  RawClient chunked = ConnectAndSend("POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(chunked.Answer().status, 404);
  RawClient small = ConnectAndSend(HeadOf("/", 5, "GET") + "small");
  EXPECT_EQ(small.Answer().body, "landing");
}

TEST_F(HeldTest, ABodyThatIsWantedCountsAndIsBoundedByAddress) {
  settings_.max_address_mb = 1;
  StartWithLedger();
  const std::string body(500'000, 'x');
  std::vector<RawClient> clients;
  for (int n = 0; n < 2; ++n) {
    clients.push_back(Connect("127.0.0.2"));
    clients.back().Send(HeadOf("/take", body.size()) + body.substr(0, 400'000));
    ASSERT_TRUE(Eventually([&] { return ledger_->bytes() >= (clients.size()) * 400'000; }));
  }
  clients.push_back(Connect("127.0.0.2"));
  clients.back().Send(HeadOf("/take", body.size()) + body.substr(0, 400'000));
  EXPECT_EQ(clients.back().Answer().status, 503);
  RawClient other = ConnectAndSend(HeadOf("/take", body.size()) + body);
  EXPECT_EQ(other.Answer().body, "500000") << "another address is unhurt";
  for (int n = 0; n < 2; ++n) {
    clients[static_cast<size_t>(n)].Send(body.substr(400'000));
    EXPECT_EQ(clients[static_cast<size_t>(n)].Answer().body, "500000");
  }
  EXPECT_TRUE(Eventually([&] { return ledger_->bytes() == 0; }));
}

}  // namespace
}  // namespace weir
