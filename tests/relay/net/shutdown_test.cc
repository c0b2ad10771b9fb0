#include <future>

#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

using ShutdownTest = ServerTest;

TEST_F(ShutdownTest, EachConnectionFinishesAndIsClosedWith1001) {
  behaviour_.on_shutdown = [](Connection& c, std::function<void()> done) {
    c.Send("last words");
    done();
  };
  settings_.io_threads = 2;
  Start();
  std::vector<RawClient> clients;
  for (int n = 0; n < 4; ++n) clients.push_back(Open());
  ASSERT_TRUE(record_.Await("open", 4));
  std::thread shutdown([&] { server_->Shutdown(seconds(10)); });
  for (RawClient& client : clients) {
    EXPECT_EQ(client.ReadText(), "last words");
    EXPECT_EQ(client.ReadCloseCode(), 1001);
    client.Send(CloseFrame(1001));
    EXPECT_TRUE(client.AtEnd());
  }
  shutdown.join();
  EXPECT_EQ(record_.Count("end"), 4U);
  EXPECT_FALSE(Connect().connected());
}

TEST_F(ShutdownTest, WaitsForNoAnswerToItsClose) {
  behaviour_.on_text = [](Connection& c, std::string_view) { c.Close(CloseCode::kPolicy, "not this"); };
  Start();
  RawClient silent = Open();
  RawClient closing = Open();
  ASSERT_TRUE(record_.Await("open", 2));
  closing.Send(ClientFrame(kText, "a"));
  EXPECT_EQ(closing.ReadCloseCode(), 1008);
  server_->Shutdown(std::chrono::minutes(10));
  EXPECT_EQ(record_.Count("end: closed, 1001: the relay is going down"), 1U);
  EXPECT_EQ(record_.Count("end: closed, 1008: not this"), 1U);
  EXPECT_EQ(silent.ReadCloseCode(), 1001);
  EXPECT_TRUE(silent.AtEnd());
}

TEST_F(ShutdownTest, DropsAClientThatTakesNothing) {
  settings_.max_pending_bytes = 64 << 20;
  behaviour_.on_shutdown = [](Connection&, const std::function<void()>&) {};  // waits for what is sent to be taken
  behaviour_.on_text = [](Connection& c, std::string_view) { c.Send(std::string(32 << 20, 'x')); };
  Start();
  RawClient deaf = Open();
  deaf.Send(ClientFrame(kText, "a"));
  ASSERT_TRUE(Eventually([&] { return server_->Stats().pending_bytes > 0; }));
  server_->Shutdown(std::chrono::minutes(10));
  EXPECT_EQ(record_.Count("end: took no output while the server was shutting down"), 1U);
}

TEST_F(ShutdownTest, WaitsForAHandlerAndNoLongerThanItWasTold) {
  std::function<void()> done_later;
  behaviour_.on_shutdown = [&](Connection&, std::function<void()> done) { done_later = std::move(done); };
  Start();
  RawClient client = Open();
  ASSERT_TRUE(record_.Await("open"));
  const auto begin = steady_clock::now();
  server_->Shutdown(milliseconds(300));
  EXPECT_GE(steady_clock::now() - begin, milliseconds(300));
  EXPECT_EQ(record_.Count("end: the server ended"), 1U);
  done_later();  // too late, and no harm
}

TEST_F(ShutdownTest, DoneMayComeFromAnotherThread) {
  std::thread worker;
  behaviour_.on_shutdown = [&](Connection&, std::function<void()> done) { worker = std::thread(std::move(done)); };
  Start();
  RawClient client = Open();
  auto shutdown = std::async(std::launch::async, [&] { server_->Shutdown(seconds(10)); });
  EXPECT_EQ(client.ReadCloseCode(), 1001);
  client.Send(CloseFrame(1001));
  shutdown.wait();
  worker.join();
}

TEST_F(ShutdownTest, AForcedShutdownEndsTheWait) {
  behaviour_.on_shutdown = [](Connection&, const std::function<void()>&) {};
  Start();
  RawClient client = Open();
  ASSERT_TRUE(record_.Await("open"));
  auto shutdown = std::async(std::launch::async, [&] { server_->Shutdown(std::chrono::minutes(10)); });
  ASSERT_TRUE(record_.Await("shutdown"));
  server_->ForceShutdown();
  EXPECT_EQ(shutdown.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(record_.Count("end: the server ended"), 1U);
}

TEST_F(ShutdownTest, ASecondShutdownReturnsAtOnce) {
  behaviour_.on_shutdown = [](Connection&, const std::function<void()>&) {};
  Start();
  RawClient client = Open();
  ASSERT_TRUE(record_.Await("open"));
  auto shutdown = std::async(std::launch::async, [&] { server_->Shutdown(std::chrono::minutes(10)); });
  ASSERT_TRUE(record_.Await("shutdown"));
  server_->Shutdown(std::chrono::minutes(10));
  EXPECT_EQ(shutdown.wait_for(std::chrono::minutes(1)), std::future_status::ready);
}

TEST_F(ShutdownTest, ServesClientsInTheBacklogFirst) {
  server_ = MakeServer();
  ASSERT_TRUE(server_->Listen().ok());
  RawClient client = ConnectAndSend(RawClient::HandshakeRequest());
  auto shutdown = std::async(std::launch::async, [&] { server_->Shutdown(seconds(10)); });
  EXPECT_EQ(client.Answer().status, 101);
  EXPECT_EQ(client.ReadCloseCode(), 1001);
  client.Send(CloseFrame(1001));
  shutdown.wait();
  EXPECT_EQ(record_.Count("shutdown"), 1U);
}

TEST_F(ShutdownTest, IdleHttpDoesNotHoldItUp) {
  router_.Add("GET", "/", [](const HttpRequest&) { return HttpResponse(); });
  Start();
  RawClient asked = ConnectAndSend("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(asked.Answer().status, 200);
  RawClient silent = Connect();
  ASSERT_TRUE(Eventually([&] { return server_->Stats().accepted == 2; }));
  auto shutdown = std::async(std::launch::async, [&] { server_->Shutdown(seconds(30)); });
  EXPECT_TRUE(asked.AtEnd());
  EXPECT_EQ(shutdown.wait_for(std::chrono::minutes(1)), std::future_status::ready);
}

TEST_F(ShutdownTest, EndsAtOnceIfTheServerNeverListened) {
  server_ = MakeServer();
  auto shutdown = std::async(std::launch::async, [&] { server_->Shutdown(std::chrono::hours(1)); });
  EXPECT_EQ(shutdown.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  server_->ForceShutdown();
}

TEST_F(ShutdownTest, TheDestructorEndsWhatIsOpen) {
  Start();
  RawClient client = Open();
  ASSERT_TRUE(record_.Await("open"));
  server_.reset();
  EXPECT_EQ(record_.Count("end"), 1U);
  while (client.ReadFrame()) {
    // The close frame may have got out, or not.
  }
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(ShutdownTest, EndsUnderLoad) {
  settings_.io_threads = 2;
  Start();
  std::vector<std::thread> clients;
  for (int t = 0; t < 4; ++t) {
    clients.emplace_back([port = server_->port()] {
      RawClient client(port);
      if (!client.Handshake()) return;
      std::string frames;
      for (int n = 0; n < 100; ++n) frames += ClientFrame(kText, std::string(500, 'x'));
      while (client.Send(frames)) {
        for (int n = 0; n < 100; ++n)
          if (!client.ReadText()) return;
      }
    });
  }
  ASSERT_TRUE(record_.Await("text", 1000));
  server_->Shutdown(seconds(10));
  for (auto& client : clients) client.join();
  EXPECT_EQ(record_.Count("end"), record_.Count("open"));
}

}  // namespace
}  // namespace weir
