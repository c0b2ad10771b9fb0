// KeyedFixture: a KeyedLimiter on a clock that the test moves, and callers that record their answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "gtest/gtest.h"
#include "throttle/limits/keyed/keyed_limiter.h"

namespace weir {

class RecordingCaller : public KeyedCaller {
 public:
  void OnWaiting(KeyedTicket given) override { ticket = given; }
  void OnAnswer(const KeyedAnswer& given) override {
    EXPECT_FALSE(answer) << "answered twice";
    answer = given;
  }
  bool granted() const { return answer && answer->code == KeyedCode::kGranted; }
  bool waits() const { return ticket && !answer; }

  std::optional<KeyedTicket> ticket;
  std::optional<KeyedAnswer> answer;
};

class KeyedFixture : public testing::Test {
 protected:
  using Caller = std::shared_ptr<RecordingCaller>;
  static constexpr std::chrono::milliseconds kWindow{1000};

  // Returns limits of two requests in a window and three waiting requests.
  static KeyedLimits Limits() { return {.window = kWindow, .max_requests = 2, .max_waiting = 3}; }

  KeyedLimiter& limiter() {
    if (!limiter_) limiter_.emplace(config_, clock_);
    return *limiter_;
  }
  Caller Take(const KeyedRequest& request) {
    auto caller = std::make_shared<RecordingCaller>();
    limiter().Take(request, caller);
    return caller;
  }
  Caller Take(std::string_view key) { return Take({.key = key}); }
  Caller Wait(std::string_view key) { return Take({.key = key, .may_wait = true}); }
  KeyedCode CodeOf(std::string_view key) { return Take(key)->answer.value().code; }
  bool GiveBack(std::string_view key, uint64_t grant) {
    std::optional<bool> given_back;
    limiter().GiveBack(key, grant, [&](bool done) { given_back = done; });
    return given_back.value();
  }
  std::optional<KeyState> Describe(std::string_view key) {
    std::optional<KeyState> state;
    limiter().Describe(key, [&](std::optional<KeyState> described) { state = std::move(described); });
    return state;
  }
  void Pass(Duration time) {
    clock_.Advance(time);
    limiter().Tick();
  }

  ManualClock clock_{TimePoint(std::chrono::hours(5))};
  KeyedConfig config_{.rules = std::make_shared<KeyedRules>(Limits())};
  std::optional<KeyedLimiter> limiter_;
};

}  // namespace weir
