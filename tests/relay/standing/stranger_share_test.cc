#include "relay/standing/stranger_share.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "config/manual_clock.h"
#include "relay/standing/ladder.h"
#include "tests/throttle/limiter_fixture.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr double kEngine = 10e6;  // bytes/s
constexpr uint64_t kEvent = 1000;
constexpr uint64_t kMostBytes = 1 << 20;

Party Address(uint64_t address, Rung rung = Rung::kStranger) {
  return Ladder::PartyOf(rung, {.id = address, .group = address});
}

// A share whose limiter is the test.
class StrangerShareTest : public testing::Test {
 protected:
  static LimiterView ViewOf(double level, double limit = kEngine) {
    LimiterView view;
    for (LimiterView::Write& write : view.writes)
      write = {.open = false, .bytes_per_second = limit, .drain_bytes_per_second = kEngine, .setpoint = 0.8};
    view.writes[WorkClass::kInteractive].level = level;
    return view;
  }
  void Press() { view_ = ViewOf(0.8); }
  void Calm() { view_ = ViewOf(0.2); }

  // Lets time pass, and calls the share at the times that it asks for.
  void Run(Duration total) {
    const TimePoint end = clock_.Now() + total;
    for (TimePoint next = share_.GoOn(); next <= end; next = share_.GoOn()) {
      ASSERT_GT(next, clock_.Now()) << "a call that asks for itself at once would spin";
      clock_.Set(next);
    }
    clock_.Set(end);
    share_.GoOn();
  }
  Admission Ask(uint64_t address = 1, uint64_t bytes = kEvent) { return share_.Admit({bytes}, Address(address)); }

  // Floods the share for `total`, from a hundred addresses: `window` events always wait. Returns the bytes that were
  // admitted.
  uint64_t Flood(Duration total, size_t window = 300) {
    const uint64_t before = share_.Now().admitted_bytes;
    for (const TimePoint end = clock_.Now() + total; clock_.Now() < end; Run(milliseconds(200))) {
      std::erase_if(waiting_, [](Admission& waits) { return waits.Poll() != Admission::State::kWaiting; });
      for (size_t n = waiting_.size(); n < window; ++n) {
        Admission asked = Ask(++asked_ % 100);
        if (asked.waiting()) waiting_.push_back(std::move(asked));
      }
    }
    return share_.Now().admitted_bytes - before;
  }

  ManualClock clock_{TimePoint{hours(1)}};
  LimiterView view_;
  StrangerShare share_{[this] { return view_; }, kMostBytes, clock_};
  std::deque<Admission> waiting_;
  uint64_t asked_ = 0;
};

TEST_F(StrangerShareTest, WithoutPressureNobodyWaits) {
  Calm();
  Run(seconds(1));
  for (int n = 0; n < 20'000; ++n) ASSERT_TRUE(Ask().admitted());
  EXPECT_FALSE(share_.limits());
}

TEST_F(StrangerShareTest, KnowsPressureByTheLimiter) {
  const auto presses = [this](const LimiterView& view) {
    StrangerShare share([&] { return view; }, kMostBytes, clock_);
    share.GoOn();
    return share.limits();
  };
  EXPECT_FALSE(presses({}));
  EXPECT_FALSE(presses(ViewOf(0.71)));
  EXPECT_TRUE(presses(ViewOf(0.73)));
  LimiterView bulk = ViewOf(0.1);
  bulk.writes[WorkClass::kBulk].level = 0.75;
  EXPECT_TRUE(presses(bulk)) << "strangers are bulk work";
  LimiterView open = ViewOf(0.9);
  for (LimiterView::Write& write : open.writes) write.open = true;
  EXPECT_FALSE(presses(open)) << "no limit is in force";
  LimiterView emergency = ViewOf(0);
  emergency.emergency = true;
  EXPECT_TRUE(presses(emergency));
}

TEST_F(StrangerShareTest, UnderPressureAFloodGetsATwentieth) {
  Press();
  Run(seconds(1));
  const double most = StrangerShare::kLeast * kEngine * 60;
  const auto admitted = static_cast<double>(Flood(seconds(60)));
  EXPECT_LE(admitted, most * 1.02);
  EXPECT_GE(admitted, most * 0.95);
}

TEST_F(StrangerShareTest, ALimitBelowTheDrainCounts) {
  view_ = ViewOf(0.9, kEngine / 10);
  Run(seconds(1));
  EXPECT_NEAR(share_.Now().bytes_per_second, StrangerShare::kLeast * kEngine / 10, 1);
  view_ = ViewOf(0.75, kEngine * 10);
  Run(seconds(1));
  EXPECT_NEAR(share_.Now().bytes_per_second, StrangerShare::kLeast * kEngine, 1);
}

TEST_F(StrangerShareTest, AnEventThatWaitsTooLongIsToldWhenToComeBack) {
  Press();
  Run(seconds(1));
  std::vector<Admission> asked;
  for (int n = 0; n < 5000; ++n) asked.push_back(Ask());
  Admission& last = asked.back();
  ASSERT_TRUE(last.waiting()) << "an event is not refused before it has waited";
  Run(StrangerShare::kLongestWait - milliseconds(1));
  EXPECT_EQ(last.Poll(), Admission::State::kWaiting);
  Run(milliseconds(1));
  EXPECT_EQ(last.Poll(), Admission::State::kRefused);
  EXPECT_GT(last.retry_after(), Duration::zero());
}

TEST_F(StrangerShareTest, AnAddressWithLittleDoesNotWaitForTheFlood) {
  Press();
  Flood(seconds(2), 1500);
  Admission one = share_.Admit({kEvent}, Address(1000));
  ASSERT_TRUE(one.waiting());
  Run(milliseconds(300));  // 150 events, of more than a thousand that wait
  EXPECT_EQ(one.Poll(), Admission::State::kAdmitted);
}

TEST_F(StrangerShareTest, NewcomersDoNotWaitForTheFloodOfStrangers) {
  Press();
  Flood(seconds(2), 1500);
  std::vector<Admission> newcomers;
  for (int n = 0; n < 100; ++n) newcomers.push_back(share_.Admit({kEvent}, Address(n % 5, Rung::kNewcomer)));
  Run(milliseconds(500));  // they get half of 500 kB/s
  for (Admission& newcomer : newcomers) EXPECT_EQ(newcomer.Poll(), Admission::State::kAdmitted);
}

TEST_F(StrangerShareTest, AfterPressureTheShareOpensGradually) {
  Press();
  Run(seconds(1));
  Calm();
  double before = StrangerShare::kLeast;
  for (Duration t{}; t < StrangerShare::kDoubling * 5; t += seconds(1)) {
    Run(seconds(1));
    const double now = share_.Now().share;
    EXPECT_GE(now, before);
    EXPECT_LE(now, before * 1.08);
    before = now;
  }
  EXPECT_FALSE(share_.limits());
}

TEST_F(StrangerShareTest, AFloodThatWaitsKeepsTheLeastShare) {
  Press();
  Flood(seconds(1));
  Calm();
  Flood(StrangerShare::kLongestHold - seconds(10));
  EXPECT_EQ(share_.Now().share, StrangerShare::kLeast);
  waiting_.clear();
  Run(StrangerShare::kDoubling * 5);
  EXPECT_FALSE(share_.limits()) << "the flood is over";
}

TEST_F(StrangerShareTest, AnIdleEngineIsNotKeptFromStrangersForEver) {
  Press();
  Flood(seconds(1));
  Calm();
  Flood(StrangerShare::kLongestHold + StrangerShare::kDoubling * 5);
  EXPECT_FALSE(share_.limits());
}

// The engine is under pressure while strangers write more than a tenth of what it carries.
TEST_F(StrangerShareTest, AFloodThatCausesThePressureDoesNotMakeItSwing) {
  uint64_t admitted = 0;
  for (int second = 0; second < 500; ++second) {
    const uint64_t now = Flood(seconds(1));
    admitted += now;
    static_cast<double>(now) > kEngine / 10 ? Press() : Calm();
  }
  EXPECT_EQ(share_.Now().pressures, 1U);
  EXPECT_LE(static_cast<double>(admitted), StrangerShare::kLeast * kEngine * 500 + 2 * kEngine);
}

TEST_F(StrangerShareTest, RoomIsBoundedAndGivenBack) {
  std::vector<StrangerShare::Room> rooms;
  for (uint64_t address = 0; address < 100; ++address) {
    for (const Rung rung : {Rung::kStranger, Rung::kNewcomer})
      if (auto room = share_.TakeRoom(kMostBytes / 10, Address(address, rung))) rooms.push_back(std::move(room));
  }
  EXPECT_EQ(rooms.size(), 10U);
  EXPECT_EQ(share_.Now().held_bytes, kMostBytes / 10 * 10);
  rooms.pop_back();
  EXPECT_NE(share_.TakeRoom(kMostBytes / 10, Address(200, Rung::kNewcomer)), nullptr);
  rooms.clear();
  EXPECT_EQ(share_.Now().held_bytes, 0U);
}

TEST_F(StrangerShareTest, AFloodLeavesRoomForOtherAddressesAndForNewcomers) {
  std::vector<StrangerShare::Room> rooms;
  for (uint64_t n = 0; n < 100'000; ++n)
    if (auto room = share_.TakeRoom(kEvent, Address(n % 100))) rooms.push_back(std::move(room));
  EXPECT_GE(rooms.size(), 400U);
  EXPECT_EQ(share_.TakeRoom(kEvent, Address(1)), nullptr);
  EXPECT_NE(share_.TakeRoom(kEvent, Address(100)), nullptr);
  EXPECT_NE(share_.TakeRoom(kMostBytes / 4, Address(1, Rung::kNewcomer)), nullptr);
}

TEST_F(StrangerShareTest, WithoutBytesAnEventIsRefusedInsteadOfWaiting) {
  StrangerShare observed([this] { return view_; }, 0, clock_);
  Press();
  observed.GoOn();
  int admitted = 0;
  for (int n = 0; n < 1000; ++n) admitted += observed.Admit({kEvent}, Address(n % 10)).admitted() ? 1 : 0;
  EXPECT_EQ(admitted, 250) << "half a second's bytes";
  Admission refused = observed.Admit({kEvent}, Address(1));
  EXPECT_TRUE(refused.refused());
  EXPECT_GT(refused.retry_after(), Duration::zero());
  EXPECT_EQ(observed.Now().waiting, 0U);
  clock_.Advance(seconds(1));
  EXPECT_EQ(observed.GoOn(), clock_.Now() + StrangerShare::kTick) << "nothing waits for a turn";
  EXPECT_TRUE(observed.Admit({kEvent}, Address(1)).admitted());
}

TEST_F(StrangerShareTest, StopAdmitsWhatWaits) {
  Press();
  Run(seconds(1));
  while (Ask().admitted()) {
  }
  Admission waits = Ask();
  int told = 0;
  waits.OnSettled([&] { ++told; });
  share_.Stop();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(waits.Poll(), Admission::State::kAdmitted);
  Run(seconds(1));
  EXPECT_FALSE(share_.limits()) << "pressure after Stop changes nothing";
}

// The test draws the limiter's views and the events at random. No more passes than the shares of the time allow, and no
// event waits longer than it may.
TEST_F(StrangerShareTest, NeverExceedsItsShareNorItsWait) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    StrangerShare share([this] { return view_; }, kMostBytes, clock_);
    Press();
    share.GoOn();
    double allowed = share.Now().bytes_per_second;  // a burst is half a second's bytes
    double passed = 0;
    std::deque<std::pair<TimePoint, Admission>> waiting;
    for (int tick = 0; tick < 600; ++tick) {
      if (random() % 20 == 0)
        view_ = ViewOf(0.72 + 0.001 * static_cast<double>(random() % 300),
                       kEngine * 0.1 * static_cast<double>(1 + random() % 20));
      for (size_t n = random() % 10; n > 0; --n)
        waiting.emplace_back(clock_.Now(), share.Admit({100 + random() % 20'000}, Address(random() % 50)));
      const TimePoint end = clock_.Now() + milliseconds(50);
      const double rate = share.Now().bytes_per_second;
      for (TimePoint next = share.GoOn(); next <= end; next = share.GoOn()) clock_.Set(next);
      clock_.Set(end);
      share.GoOn();
      allowed += 0.05 * std::max(rate, share.Now().bytes_per_second);
      for (size_t n = waiting.size(); n > 0; --n) {
        auto [since, next] = std::move(waiting.front());
        waiting.pop_front();
        if (next.Poll() != Admission::State::kWaiting) continue;
        ASSERT_LE(clock_.Now() - since, StrangerShare::kLongestWait + milliseconds(50)) << "seed " << seed;
        waiting.emplace_back(since, std::move(next));
      }
      passed = static_cast<double>(share.Now().admitted_bytes);
      ASSERT_LE(passed, allowed) << "seed " << seed << ", tick " << tick;
    }
    EXPECT_GE(passed, 0.2 * allowed) << "seed " << seed;
  }
}

// The limiter of this test is real, its engine is scripted.
using SharedLimiterTest = LimiterTest;

TEST_F(SharedLimiterTest, WaitingStrangersDoNotShowInTheLimiter) {
  Build();
  StrangerShare share([this] { return limiter_->View(); }, kMostBytes, clock_);
  Say(0.84);
  Ticks(20);
  share.GoOn();
  ASSERT_TRUE(share.limits());
  std::deque<Admission> waiting;
  for (uint64_t n = 0; n < 5000; ++n) waiting.push_back(share.Admit({kEvent}, Address(n % 100)));
  ASSERT_TRUE(waiting.back().waiting());
  Say(0.5);
  for (int n = 0; n < 20; ++n) Tick(), share.GoOn();
  EXPECT_EQ(limiter_->Stats(Operation::kWrite).waiting, 0U);
  EXPECT_EQ(limiter_->Stats(Operation::kWrite).delayed, 0U);
  EXPECT_EQ(limiter_->View()[WorkClass::kInteractive].level, 0.5);
  EXPECT_EQ(share.Now().pressures, 1U);
  EXPECT_GT(share.Now().waiting, 0U) << "the pressure is over, though strangers wait";
}

}  // namespace
}  // namespace weir
