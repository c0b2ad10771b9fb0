// A request that waits for its answer is told when its client does not wait for it any more.
#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

class LeftTest : public ServerTest {
 protected:
  LeftTest() {
    router_.Add("GET", "/", [](const HttpRequest&) { return HttpResponse{.body = "landing"}; });
    // Asks to be told, and answers when it is.
    router_.AddDeferred("GET", "/wait", [this](const HttpRequest& r, const HttpReply& reply) {
      reply.OnLeft([this, query = r.query, reply](HttpLeft why) {
        record_.Add("told " + query + (why == HttpLeft::kClient ? " client" : " server"));
        reply({.status = why == HttpLeft::kClient ? 499 : 503});
      });
      const std::lock_guard lock(mutex_);
      replies_.push_back(reply);
      record_.Add("asked " + r.query);
    });
    // Neither asks nor answers.
    router_.AddDeferred("GET", "/silent", [this](const HttpRequest&, const HttpReply& reply) {
      const std::lock_guard lock(mutex_);
      replies_.push_back(reply);
      record_.Add("silent");
    });
  }
  ~LeftTest() override { server_.reset(); }

  HttpReply TakeReply() {
    const std::lock_guard lock(mutex_);
    HttpReply reply = std::move(replies_.front());
    replies_.erase(replies_.begin());
    return reply;
  }
  RawClient Waiting(const std::string& name) {
    RawClient client = ConnectAndSend(Get("/wait?" + name));
    EXPECT_TRUE(record_.Await("asked " + name));
    return client;
  }

  std::mutex mutex_;
  std::vector<HttpReply> replies_;
};

TEST_F(LeftTest, TellsWhenAClientClosesItsConnection) {
  Start();
  { const RawClient client = Waiting("a"); }
  EXPECT_TRUE(record_.Await("told a client"));
}

TEST_F(LeftTest, TellsWhenTheConnectionBreaks) {
  Start();
  RawClient client = Waiting("a");
  client.Reset();
  EXPECT_TRUE(record_.Await("told a client"));
}

TEST_F(LeftTest, AClientThatHalfClosesIsGoneAndIsToldSo) {
  Start();
  RawClient client = Waiting("a");
  client.HalfClose();
  EXPECT_EQ(client.Answer().status, 499);
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(record_.Count("told"), 1U);
}

TEST_F(LeftTest, TellsWhenAClientSendsMoreAheadAndCloses) {
  settings_.handshake_timeout = std::chrono::seconds(4);  // the beat is a quarter of it
  Start();
  {
    RawClient client = Waiting("a");
    client.Send(Get("/"));
    RawClient other = ConnectAndSend(Get("/"));
    EXPECT_EQ(other.Answer().status, 200);
    EXPECT_EQ(record_.Count("told"), 0U);
  }
  EXPECT_TRUE(record_.Await("told a client"));
}

TEST_F(LeftTest, DoesNotCallBackOnceTheAnswerIsGiven) {
  Start();
  {
    RawClient client = Waiting("a");
    TakeReply()({.body = "answer"});
    EXPECT_EQ(client.Answer().body, "answer");
    client.Send(Get("/silent"));
    EXPECT_TRUE(record_.Await("silent"));
  }
  const HttpReply second = TakeReply();
  EXPECT_TRUE(Eventually([&] { return second.abandoned(); })) << "the end of the connection was seen";
  OnIoThread([] {});
  EXPECT_EQ(record_.Count("told"), 0U);
}

TEST_F(LeftTest, DropsTheCallbackWithTheAnswer) {
  const auto held = std::make_shared<int>();
  router_.AddDeferred("GET", "/held", [this, held](const HttpRequest&, const HttpReply& reply) {
    reply.OnLeft([held, reply](HttpLeft) {});
    const std::lock_guard lock(mutex_);
    replies_.push_back(reply);
    record_.Add("held");
  });
  Start();
  RawClient client = ConnectAndSend(Get("/held"));
  ASSERT_TRUE(record_.Await("held"));
  const long before = held.use_count();
  const HttpReply reply = TakeReply();
  reply({});
  EXPECT_EQ(held.use_count(), before - 1);
  reply.OnLeft([held](HttpLeft) {});
  EXPECT_EQ(held.use_count(), before - 1) << "who asks after the answer is not told";
}

TEST_F(LeftTest, CallsALateCallbackAtOnce) {
  Start();
  {
    RawClient client = ConnectAndSend(Get("/silent"));
    ASSERT_TRUE(record_.Await("silent"));
  }
  const HttpReply reply = TakeReply();
  ASSERT_TRUE(Eventually([&] { return reply.abandoned(); }));
  int told = 0;
  reply.OnLeft([&](HttpLeft why) { told += why == HttpLeft::kClient ? 1 : 10; });
  EXPECT_EQ(told, 1);
}

TEST_F(LeftTest, AHandlerThatThrowsIsNotTold) {
  router_.AddDeferred("GET", "/fault", [this](const HttpRequest&, const HttpReply& reply) {
    reply.OnLeft([this](HttpLeft) { record_.Add("told"); });
    throw std::runtime_error("secret");
  });
  Start();
  RawClient client = ConnectAndSend(Get("/fault"));
  EXPECT_EQ(client.Answer().status, 500);
  client.HalfClose();
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(record_.Count("told"), 0U);
}

TEST_F(LeftTest, AServerThatGoesSaysSoAndItsAnswerArrives) {
  Start();
  std::vector<RawClient> clients;
  clients.reserve(10);
  for (int n = 0; n < 10; ++n) clients.push_back(Waiting("n" + std::to_string(n) + "."));
  server_->Shutdown(minutes(10));
  for (RawClient& client : clients) {
    const RawAnswer answer = client.Answer();
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.headers.at("connection"), "close");
    EXPECT_TRUE(client.AtEnd());
  }
  EXPECT_EQ(record_.Count("told"), 10U);
}

TEST_F(LeftTest, CallsACallbackSetDuringShutdownAtOnce) {
  Start();
  RawClient late = Connect();
  late.Send("GET /wait?late HTTP/1.1\r\n");  // not the whole of it
  RawClient client = ConnectAndSend(Get("/silent"));
  ASSERT_TRUE(record_.Await("silent"));
  // After a second an unfinished request gets another answer, so no thread's pause may fall between.
  std::promise<void> go;
  boost::asio::post(server_->executor(0), [held = go.get_future().share()] { held.wait(); });
  auto shutdown = std::async(std::launch::async, [&] { server_->Shutdown(minutes(10)); });
  late.Send("Host: x\r\n\r\n");
  go.set_value();
  EXPECT_EQ(late.Answer().status, 503);
  TakeReply()({});
  EXPECT_EQ(client.Answer().status, 200);
}

TEST_F(LeftTest, AConnectionThatTheServerCutsIsToldOnce) {
  router_.AddDeferred("GET", "/stays", [this](const HttpRequest&, const HttpReply& reply) {
    reply.OnLeft([this](HttpLeft why) { record_.Add(why == HttpLeft::kServer ? "told server" : "told client"); });
    const std::lock_guard lock(mutex_);
    replies_.push_back(reply);
    record_.Add("stays");
  });
  Start();
  RawClient client = ConnectAndSend(Get("/stays"));
  ASSERT_TRUE(record_.Await("stays"));
  auto shutdown = std::async(std::launch::async, [&] { server_->Shutdown(minutes(10)); });
  ASSERT_TRUE(record_.Await("told server"));
  server_->ForceShutdown();
  EXPECT_TRUE(client.AtEnd());
  shutdown.get();
  EXPECT_EQ(record_.Count("told server"), 1U);
  EXPECT_EQ(record_.Count("told client"), 0U);
}

// For the sanitizers: answers from other threads against clients that leave.
TEST_F(LeftTest, CallsNoCallbackTwice) {
  struct Asked {
    explicit Asked(HttpReply one) : reply(std::move(one)) {}
    HttpReply reply;
    std::atomic<int> told{0};
  };
  std::vector<std::shared_ptr<Asked>> asked;
  std::atomic<int> wrong{0};
  router_.AddDeferred("GET", "/race", [&](const HttpRequest&, const HttpReply& reply) {
    const auto one = std::make_shared<Asked>(reply);
    reply.OnLeft([one, &wrong](HttpLeft) {
      if (one->told.fetch_add(1) > 0) ++wrong;
    });
    const std::lock_guard lock(mutex_);
    asked.push_back(one);
  });
  Start();
  std::atomic<bool> stop{false};
  std::thread replier([&] {
    while (!stop) {
      std::vector<std::shared_ptr<Asked>> taken;
      {
        const std::lock_guard lock(mutex_);
        taken.swap(asked);
      }
      for (const auto& one : taken) one->reply({.body = "x"});
      if (taken.empty()) std::this_thread::yield();
    }
  });
  for (int round = 0; round < 200; ++round) {
    RawClient client = ConnectAndSend(Get("/race") + (round % 4 == 0 ? Get("/race") : ""));
    if (round % 3 == 0) client.Reset();
    if (round % 3 == 1) client.HalfClose();
  }
  server_.reset();
  stop = true;
  replier.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weir
