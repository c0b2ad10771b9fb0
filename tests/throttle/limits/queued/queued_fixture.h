// QueuedFixture: a QueuedLimiter on a clock that the test moves, and callers that record their answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "gtest/gtest.h"
#include "throttle/limits/queued/queued_limiter.h"

namespace weir {

class RecordingQueuedCaller : public QueuedCaller {
 public:
  void OnWaiting(QueuedTicket given) override { ticket = given; }
  bool StillWaits() override { return !has_left; }
  void OnAnswer(const QueuedAnswer& given) override {
    EXPECT_FALSE(answer) << "answered twice";
    answer = given;
    endpoint = given.endpoint;
    if (order != nullptr) order->push_back(name);
  }
  bool served() const { return answer && answer->code == QueuedCode::kServed; }
  bool waits() const { return ticket && !answer; }
  QueuedCode code() const { return answer.value().code; }

  bool has_left = false;  // true if the caller has disconnected; the limiter notices this when it asks
  std::optional<QueuedTicket> ticket;
  std::optional<QueuedAnswer> answer;
  std::string endpoint;
  // The caller's name, which is added to `order` when the caller gets its answer.
  std::string name;
  std::vector<std::string>* order = nullptr;
};

class QueuedFixture : public testing::Test {
 protected:
  using Caller = std::shared_ptr<RecordingQueuedCaller>;
  using Algorithm = EndpointConfig::Algorithm;
  using Scheduler = EndpointConfig::Scheduler;
  using Overflow = EndpointConfig::Overflow;
  using Rules = std::vector<EndpointRule>;

  static std::shared_ptr<const QueuedRules> Made(Rules rules, size_t max_dynamic = 1000) {
    return QueuedRules::Make(std::move(rules), max_dynamic).value();
  }
  // Configures /a with ten requests a second; `rule` adds more.
  void Configure(EndpointRule rule = {}) {
    if (rule.path.empty()) rule.path = "/a";
    if (!rule.rate) rule.rate = 10;
    config_.rules = Made({std::move(rule)});
  }
  // Configures /a with 100 tokens a second.
  void ConfigureTokens(EndpointRule rule = {}) {
    rule.algorithm = Algorithm::kTokenWindow;
    rule.window = std::chrono::seconds(1);
    rule.tokens_per_window = 100;
    Configure(std::move(rule));
  }

  QueuedLimiter& limiter() {
    if (!limiter_) limiter_.emplace(config_, clock_);
    return *limiter_;
  }
  Caller Take(const QueuedRequest& request, std::string name = "") {
    auto caller = std::make_shared<RecordingQueuedCaller>();
    caller->name = std::move(name);
    caller->order = &order_;
    limiter().Take(request, caller);
    return caller;
  }
  Caller Take(std::string_view path = "/a") { return Take({.path = path}); }
  Caller TakeTokens(uint64_t tokens, std::string name = "") {
    return Take({.path = "/a", .tokens = tokens}, std::move(name));
  }
  void Leave(const Caller& caller) { limiter().Leave(caller->ticket.value()); }
  std::optional<EndpointState> Describe(std::string_view path = "/a") {
    std::optional<EndpointState> state;
    limiter().Describe(path, [&](std::optional<EndpointState> described) { state = std::move(described); });
    return state;
  }
  std::vector<std::string> Paths() {
    std::vector<std::string> paths;
    limiter().DescribeAll([&](const std::vector<EndpointState>& states) {
      for (const EndpointState& state : states) paths.push_back(state.path);
    });
    return paths;
  }
  void Pass(Duration time) {
    clock_.Advance(time);
    limiter().Tick();
  }
  std::vector<std::string> TakeOrder() { return std::exchange(order_, {}); }

  ManualClock clock_{TimePoint(std::chrono::hours(5))};
  QueuedConfig config_;
  std::vector<std::string> order_;  // names, in the order of their answers
  std::optional<QueuedLimiter> limiter_;
};

}  // namespace weir
