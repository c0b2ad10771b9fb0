#include "relay/watch/live/live_stream.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

namespace weir {
namespace {

// A client that takes as much as the test says.
class Exchange final : public HttpExchange {
 public:
  HttpPoster poster() override {
    return [this](std::function<void()> task) { tasks_.push_back(std::move(task)); };
  }
  boost::asio::any_io_executor executor() override { return io_.get_executor(); }
  void Begin(const HttpResponse& head) override { begun = head; }
  void Write(std::string_view piece) override { written.emplace_back(piece); }
  void EndWith(HttpFields) override { ended = true; }
  void Abort(std::string cause) override { aborted = std::move(cause); }
  size_t pending_bytes() const override { return pending; }
  void WhenPendingBelow(size_t, std::function<void()>) override {}
  void PauseBody() override {}
  void ResumeBody() override {}

  // Runs what was posted, as long as the exchange lasts.
  void Turn() {
    for (const auto& task : std::exchange(tasks_, {}))
      if (!ended && aborted.empty()) task();
  }

  HttpResponse begun;
  std::vector<std::string> written;
  bool ended = false;
  std::string aborted;
  size_t pending = 0;

 private:
  boost::asio::io_context io_;
  std::vector<std::function<void()>> tasks_;
};

class LiveStreamTest : public testing::Test {
 protected:
  LiveStreamTest() { stream_->Begin(); }
  void Tell(const std::string& text) {
    stream_->OnEvent(std::make_shared<const std::string>(text));
    exchange_.Turn();
  }

  Exchange exchange_;
  std::shared_ptr<LiveStream> stream_ = std::make_shared<LiveStream>(exchange_);
};

TEST_F(LiveStreamTest, IsAnEventStreamThatNoProxyKeeps) {
  EXPECT_EQ(exchange_.begun.content_type, "text/event-stream");
  EXPECT_EQ(exchange_.begun.body, "retry: 1000\n\n");
  const HttpFields expected = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
  EXPECT_EQ(exchange_.begun.headers, expected);
  Tell("event: tick\n\n");
  EXPECT_EQ(exchange_.written, std::vector<std::string>{"event: tick\n\n"});
}

TEST_F(LiveStreamTest, SkipsASlowReaderAndKeepsNoEventForIt) {
  exchange_.pending = HttpExchange::kAlwaysTaken + 1;
  for (int i = 1; i < LiveStream::kMostLeftOut; ++i) Tell("lost");
  EXPECT_TRUE(exchange_.written.empty());
  exchange_.pending = HttpExchange::kAlwaysTaken;
  Tell("taken");
  EXPECT_EQ(exchange_.written, std::vector<std::string>{"taken"});
  exchange_.pending = HttpExchange::kAlwaysTaken + 1;
  for (int i = 1; i < LiveStream::kMostLeftOut; ++i) Tell("lost");
  EXPECT_EQ(exchange_.aborted, "") << "it is counted anew";
}

TEST_F(LiveStreamTest, DropsAClientThatDoesNotRead) {
  exchange_.pending = HttpExchange::kAlwaysTaken + 1;
  for (int i = 0; i < LiveStream::kMostLeftOut; ++i) Tell("lost");
  EXPECT_NE(exchange_.aborted, "");
  EXPECT_TRUE(exchange_.written.empty());
}

TEST_F(LiveStreamTest, EndsWithTheServer) {
  stream_->OnShutdown();
  EXPECT_TRUE(exchange_.ended);
}

TEST_F(LiveStreamTest, IgnoresEventsAfterItsEnd) {
  stream_->OnEvent(std::make_shared<const std::string>("late"));
  stream_->OnEnd("the client is gone");
  stream_->OnShutdown();
  exchange_.Turn();
  stream_.reset();
  exchange_.Turn();
  EXPECT_TRUE(exchange_.written.empty());
  EXPECT_FALSE(exchange_.ended);
}

}  // namespace
}  // namespace weir
