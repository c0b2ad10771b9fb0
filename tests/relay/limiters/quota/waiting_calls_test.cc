// Calls that are answered without the store.
#include "relay/limiters/quota/waiting_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"

namespace weir {
namespace {

// Lets calls in when it is opened.
class Door {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Enter() {
    std::unique_lock lock(mutex_);
    ++within_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void AwaitWithin(int calls) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::minutes(1), [this, calls] { return within_ >= calls; }))
        << within_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int within_ = 0;
};

struct Client : HttpReply::Receiver {
  void Give(HttpResponse given) override {
    response = std::move(given);
    answered.set_value();
  }
  bool Abandoned() const override { return gone; }
  void OnLeft(HttpReply::LeftHandler) override {}
  std::optional<HttpResponse> response;
  std::promise<void> answered;
  std::atomic<bool> gone{false};
};

class WaitingCallsTest : public testing::Test {
 protected:
  static constexpr int kAtOnce = 4;

  // Makes all workers wait, or as many as `workers`, until `door` is opened.
  void Fill() { Fill(door_, kAtOnce); }
  void Fill(Door& door, int workers) {
    for (int n = 0; n < workers; ++n) {
      calls_->Submit("192.0.2.1", HttpReply(std::make_shared<Client>()), [&door](const HttpReply& reply) {
        door.Enter();
        reply({});
      });
    }
    door.AwaitWithin(workers);
  }
  std::shared_ptr<Client> Ask() {
    auto client = std::make_shared<Client>();
    calls_->Submit("192.0.2.2", HttpReply(client), [](const HttpReply& reply) { reply({.status = 200}); });
    return client;
  }

  ManualClock clock_;
  Door door_;
  std::unique_ptr<WaitingCalls> calls_ = std::make_unique<WaitingCalls>(clock_);
};

TEST_F(WaitingCallsTest, SendsAwayACallThatWaitsTooLong) {
  Fill();
  const auto late = Ask();
  clock_.Advance(std::chrono::seconds(2));
  const auto in_time = Ask();
  clock_.Advance(WaitingCalls::kLongestInLine - std::chrono::seconds(1));
  door_.Open();
  in_time->answered.get_future().wait();
  late->answered.get_future().wait();
  calls_->Stop();
  EXPECT_EQ(late->response->status, 503);
  ASSERT_FALSE(late->response->headers.empty());
  EXPECT_EQ(late->response->headers[0].first, "Retry-After");
  EXPECT_EQ(in_time->response->status, 200);
}

TEST_F(WaitingCallsTest, ChargesNothingForAClientThatIsGone) {
  Fill();
  const auto client = Ask();
  client->gone = true;
  door_.Open();
  client->answered.get_future().wait();
  calls_->Stop();
  EXPECT_EQ(client->response->status, 503);
}

TEST_F(WaitingCallsTest, AtTheEndNothingIsBegun) {
  Fill();
  const auto client = Ask();
  calls_->BeginStop();
  door_.Open();
  calls_.reset();
  ASSERT_TRUE(client->response);
  EXPECT_EQ(client->response->status, 503);
}

// Only one worker goes on, so that the order of the calls is certain.
TEST_F(WaitingCallsTest, TheAddressesOfOneIpv6ClientTakeTurnsAsOne) {
  Fill(door_, kAtOnce - 1);
  Door last;
  Fill(last, 1);
  std::vector<std::string> order;
  std::vector<std::shared_ptr<Client>> clients;
  for (const char* address : {"2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.7"}) {
    clients.push_back(std::make_shared<Client>());
    calls_->Submit(address, HttpReply(clients.back()), [&order, address](const HttpReply& reply) {
      order.emplace_back(address);
      reply({});
    });
  }
  last.Open();
  for (const auto& client : clients) client->answered.get_future().wait();
  door_.Open();
  calls_->Stop();
  EXPECT_EQ(order, (std::vector<std::string>{"2001:db8::1", "192.0.2.7", "2001:db8::2", "2001:db8::3"}));
}

}  // namespace
}  // namespace weir
