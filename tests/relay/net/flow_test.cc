#include <boost/asio/post.hpp>
#include <future>

#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

class FlowTest : public ServerTest {
 protected:
  // Keeps the first connection that opens.
  void KeepConnection() {
    behaviour_.on_open = [this](Connection& c) {
      if (connection_ == nullptr) connection_ = &c;
    };
  }

  Connection* connection_ = nullptr;
};

TEST_F(FlowTest, SendsABodyThatManyShare) {
  const auto body = std::make_shared<const std::string>(R"({"content":"shared"})");
  behaviour_.on_text = [&](Connection& c, std::string_view) {
    c.Send(TextMessage{.head = R"(["EVENT","sub",)", .owner = body, .body = *body, .tail = "]"});
  };
  Start();
  RawClient client = Open();
  client.Text("x");
  EXPECT_EQ(client.ReadText(), R"(["EVENT","sub",{"content":"shared"}])");
  EXPECT_TRUE(Eventually([&] { return body.use_count() == 1; }));
}

TEST_F(FlowTest, SendsTheMessagesOfOneTurnTogether) {
  KeepConnection();
  behaviour_.on_text = [](Connection& c, std::string_view) { c.Send("answer"); };
  Start();
  RawClient client = Open();
  ASSERT_TRUE(record_.Await("open"));
  const uint32_t before = client.SegmentsIn();
  OnIoThread([&] {
    for (int n = 0; n < 100; ++n) connection_->Send("message");
  });
  for (int n = 0; n < 100; ++n) ASSERT_EQ(client.ReadText(), "message");
  EXPECT_LE(client.SegmentsIn() - before, 2U);

  std::string frames;
  for (int n = 0; n < 100; ++n) frames += ClientFrame(kText, "question");
  client.Send(frames);
  for (int n = 0; n < 100; ++n) ASSERT_EQ(client.ReadText(), "answer");
  EXPECT_LE(client.SegmentsIn() - before, 6U) << "the questions may come in a few pieces";
}

TEST_F(FlowTest, DisconnectsAClientThatNeverReadsAndServesOthers) {
  settings_.max_pending_bytes = 256 << 10;
  KeepConnection();
  Start();
  RawClient stuck(server_->port(), "127.0.0.1", 4096);
  ASSERT_TRUE(stuck.Handshake());
  ASSERT_TRUE(record_.Await("open"));
  RawClient other = Open();
  bool ended = false;
  for (int n = 0; n < 1000 && !ended; ++n) {
    OnIoThread([&] {
      ended = record_.Count("end") > 0;
      if (!ended) connection_->Send(std::string(64 << 10, 'x'));
    });
    EXPECT_LE(server_->Stats().pending_bytes, settings_.max_pending_bytes + 65536 + 16);
    other.Text("ping");
    ASSERT_EQ(other.ReadText(), "ping");
  }
  EXPECT_TRUE(record_.Await("end: too slow"));
  EXPECT_EQ(server_->Stats().too_slow, 1U);
  EXPECT_TRUE(Eventually([&] { return server_->Stats().pending_bytes == 0; }));
}

TEST_F(FlowTest, UnreadOutputWaitsInTheServerNotInTheKernel) {
  KeepConnection();
  Start();
  RawClient stuck(server_->port(), "127.0.0.1", 4096);
  ASSERT_TRUE(stuck.Handshake());
  ASSERT_TRUE(record_.Await("open"));
  OnIoThread([&] {
    for (int n = 0; n < 100; ++n) connection_->Send(std::string(20'000, 'x'));
  });
  for (int turn = 0; turn < 1000; ++turn) OnIoThread([] {});  // all that the kernel takes has gone by then
  EXPECT_GE(server_->Stats().pending_bytes, 1'500'000U);
}

TEST_F(FlowTest, DisconnectsAClientThatSendsButTakesNothing) {
  settings_.ping_interval = std::chrono::milliseconds(100);
  KeepConnection();
  Start();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  ASSERT_TRUE(client.Handshake());
  ASSERT_TRUE(record_.Await("open"));
  OnIoThread([&] {
    while (connection_->pending_bytes() < 300'000) connection_->Send(std::string(50'000, 'x'));
  });
  EXPECT_TRUE(Eventually([&] {
    client.Send(ClientFrame(kPong, ""));
    return record_.Count("end: too slow") == 1;
  }));
  EXPECT_EQ(server_->Stats().too_slow, 1U);
}

TEST_F(FlowTest, OverTheBoundOfAllAClientAboveItsShareIsDisconnected) {
  settings_.max_pending_total_mb = 1;
  std::vector<Connection*> connections;
  behaviour_.on_open = [&](Connection& c) { connections.push_back(&c); };
  Start();
  std::vector<RawClient> clients;
  for (size_t n = 0; n < 4; ++n) {
    clients.emplace_back(server_->port(), "127.0.0.1", 4096);
    ASSERT_TRUE(clients.back().Handshake());
    ASSERT_TRUE(record_.Await("open", n + 1));
  }
  const auto fill = [&](size_t n, size_t bytes) {
    OnIoThread([&] {
      for (int sends = 0; sends < 500 && connections[n]->pending_bytes() < bytes; ++sends)
        connections[n]->Send(std::string(20'000, 'x'));
    });
  };
  fill(0, 200'000);
  fill(1, 600'000);
  EXPECT_EQ(record_.Count("end"), 0U);
  fill(2, 600'000);
  EXPECT_TRUE(record_.Await("end: too slow"));
  EXPECT_TRUE(Eventually([&] { return server_->Stats().pending_bytes <= 1 << 20; }));
  OnIoThread([&] { EXPECT_GE(connections[0]->pending_bytes(), 200'000U) << "less than its share"; });
  clients[3].Text("unhurt");
  EXPECT_EQ(clients[3].ReadText(), "unhurt");
}

TEST_F(FlowTest, OneLongAnswerToAReaderIsNotTooSlow) {
  // Bytes that the socket takes at once do not count, though they are more than the bound.
  settings_.max_pending_bytes = 64 << 10;
  behaviour_.on_text = [](Connection& c, std::string_view) {
    for (int n = 0; n < 100; ++n) c.Send(std::string(10'000, 'x'));
  };
  Start();
  RawClient client = Open();
  client.Text("go");
  for (int n = 0; n < 100; ++n) ASSERT_EQ(client.ReadText()->size(), 10'000U) << n;
}

TEST_F(FlowTest, PingsWithoutReadingAreBoundedToo) {
  settings_.max_pending_bytes = 64 << 10;
  Start();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  ASSERT_TRUE(client.Handshake());
  std::string pings;
  for (int n = 0; n < 1000; ++n) pings += ClientFrame(kPing, std::string(125, 'p'));
  for (int n = 0; n < 1000 && client.Send(pings); ++n) continue;
  EXPECT_TRUE(record_.Await("end: too slow"));
}

TEST_F(FlowTest, AClientBehindByALittleForLongStays) {
  // The socket is never quite empty, so what is appended to the output must push out what was taken.
  settings_.max_pending_bytes = 1 << 20;
  KeepConnection();
  Start();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  ASSERT_TRUE(client.Handshake());
  ASSERT_TRUE(record_.Await("open"));
  size_t read = 0;
  for (int n = 0; n < 200; ++n) {
    OnIoThread([&] {
      if (connection_->pending_bytes() < 500'000) connection_->Send(std::string(100'000, 'x'));
    });
    client.Send(ClientFrame(kPing, std::string(125, 'p')));
    while (server_->Stats().pending_bytes > 400'000 && client.ReadFrame()) ++read;
  }
  EXPECT_GT(read, 10U);
  EXPECT_EQ(record_.Count("end"), 0U);
}

TEST_F(FlowTest, TellsWhenEnoughHasGoneOut) {
  KeepConnection();
  Start();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  ASSERT_TRUE(client.Handshake());
  ASSERT_TRUE(record_.Await("open"));
  size_t sent = 0;
  bool called = false;
  OnIoThread([&] {
    for (sent = 0; connection_->pending_bytes() < 300'000; ++sent) connection_->Send(std::string(50'000, 'x'));
    connection_->WhenPendingBelow(100'000, [&] {
      called = true;
      record_.Add("below " + std::to_string(connection_->pending_bytes() <= 100'000));
    });
  });
  OnIoThread([&] { EXPECT_FALSE(called); });
  for (size_t n = 0; n < sent; ++n) ASSERT_TRUE(client.ReadText());
  EXPECT_TRUE(record_.Await("below 1"));
}

TEST_F(FlowTest, TellsOnALaterTurnWhenNothingWaits) {
  KeepConnection();
  Start();
  RawClient client = Open();
  ASSERT_TRUE(record_.Await("open"));
  OnIoThread([&] {
    bool called = false;
    connection_->WhenPendingBelow(0, [&] { record_.Add("below"); });
    EXPECT_FALSE(called);
    EXPECT_EQ(record_.Count("below"), 0U);
  });
  EXPECT_TRUE(record_.Await("below"));
}

TEST_F(FlowTest, APausedConnectionHoldsItsSenderBack) {
  behaviour_.on_text = [this](Connection& c, std::string_view) {
    if (record_.Count("text") == 1) {
      connection_ = &c;
      c.PauseReading();
      c.PauseReading();
    }
  };
  Start();
  RawClient client = Open();
  // In the end this is more than two sockets' buffers hold.
  const std::string frame = ClientFrame(kText, std::string(100'000, 'x'));
  std::thread sender([&] {
    client.Send(ClientFrame(kText, "first"));
    for (int n = 0; n < 300; ++n) client.Send(frame);
  });
  ASSERT_TRUE(record_.Await("text first"));
  OnIoThread([&] { connection_->ResumeReading(); });
  OnIoThread([] {});
  EXPECT_EQ(record_.Count("text"), 1U) << "one pause is left";
  EXPECT_EQ(record_.Count("read end"), 1U) << "what came before the pause was handed over";
  EXPECT_LT(server_->Stats().received_bytes, 200'000U);
  OnIoThread([&] { connection_->ResumeReading(); });
  EXPECT_TRUE(record_.Await("text", 301));
  sender.join();
}

TEST_F(FlowTest, HandsOverAMessageThatCameWithTheClose) {
  Start();
  RawClient client = Open();
  client.Send(ClientFrame(kText, "last") + CloseFrame(1000));
  ASSERT_TRUE(record_.Await("end"));
  EXPECT_EQ(record_.events(), (std::vector<std::string>{"open 127.0.0.1", "text last", "read end",
                                                        "end: closed by the client, code 1000"}));
}

TEST_F(FlowTest, MessagesThatWereReadAlreadyComeAfterThePause) {
  behaviour_.on_text = [this](Connection& c, std::string_view) {
    connection_ = &c;
    c.PauseReading();
  };
  Start();
  RawClient client = Open();
  client.Send(ClientFrame(kText, "1") + ClientFrame(kText, "2") + ClientFrame(kText, "3"));
  for (const char* text : {"text 1", "text 2", "text 3"}) {
    ASSERT_TRUE(record_.Await(text));
    OnIoThread([&] { connection_->ResumeReading(); });
  }
}

TEST_F(FlowTest, ABusyConnectionDoesNotStarveTheOthersOfItsThread) {
  behaviour_.on_text = [](Connection& c, std::string_view text) {
    if (text == "question") c.Send("answer");
  };
  Start();
  RawClient quiet = Open();
  RawClient busy = Open();
  std::string frames;
  for (int n = 0; n < 10'000; ++n) frames += ClientFrame(kText, "noise");
  std::atomic<bool> stop{false};
  std::thread noise([&] {
    while (!stop && busy.Send(frames)) continue;
  });
  for (int n = 0; n < 20; ++n) {
    quiet.Text("question");
    EXPECT_EQ(quiet.ReadText(), "answer");
  }
  stop = true;
  noise.join();
}

TEST_F(FlowTest, ConnectionsAreSpreadOverTheThreads) {
  settings_.io_threads = 3;
  behaviour_.on_open = [this](Connection& c) { record_.Add("on " + std::to_string(c.io_thread())); };
  Start();
  EXPECT_EQ(server_->io_threads(), 3U);
  std::vector<RawClient> clients;
  for (int n = 0; n < 9; ++n) clients.push_back(Open());
  for (const char* on : {"on 0", "on 1", "on 2"}) EXPECT_TRUE(record_.Await(on, 3)) << on;
}

}  // namespace
}  // namespace weir
