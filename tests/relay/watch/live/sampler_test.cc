#include "relay/watch/live/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "config/manual_clock.h"
#include "tests/throttle/limiter_fixture.h"

namespace weir {
namespace {

using enum LiveFigure;
using std::chrono::milliseconds;
using std::chrono::seconds;

class SamplerTest : public LimiterTest {
 protected:
  SamplerTest() {
    Build({.write = {.max_delay = milliseconds(2000)}});
    metrics_.SetSources({.service = {.server = [this] { return server_; }},
                         .subscriptions = [] { return uint64_t{5}; },
                         .limiter = &*limiter_});
  }
  LiveFeed::Sample Second() {
    clock_.Advance(seconds(1));
    wall_.Advance(seconds(1));
    return sampler_.Take(metrics_);
  }

  ManualWallClock wall_{1'700'000'000};
  ServerStats server_{.connections = 3, .received_bytes = 1000, .sent_bytes = 10};
  RelayMetrics metrics_{clock_};
  Sampler sampler_{clock_, wall_};
};

TEST_F(SamplerTest, BeforeARelayIsThereARowIsEmpty) {
  const LiveFeed::Sample sample = Sampler(clock_, wall_).Take(RelayMetrics(clock_));
  EXPECT_EQ(sample.row.at, 1'700'000'000);
  for (const float figure : sample.row.figures) EXPECT_TRUE(std::isnan(figure));
}

TEST_F(SamplerTest, CountsBecomeRates) {
  const LiveRow first = Second().row;
  EXPECT_TRUE(std::isnan(first[kAdmittedWrite])) << "of the first there is no rate";
  EXPECT_FLOAT_EQ(first[kSetpointBulk], 0.70F) << "also where nothing was measured yet";
  Say(0.1, 0.4);
  Tick();
  Second();
  for (int i = 0; i < 20; ++i) (void)Write(100);
  for (int i = 0; i < 4; ++i) (void)Write(1000, WorkClass::kBulk);
  (void)Read(10);
  server_.received_bytes += 500;
  clock_.Advance(seconds(1));  // two in all
  const LiveRow row = Second().row;
  EXPECT_EQ(row[kAdmittedWrite], 10);
  EXPECT_EQ(row[kBytesWrite], 1000);
  EXPECT_EQ(row[kAdmittedBulk], 2);
  EXPECT_EQ(row[kBytesBulk], 2000);
  EXPECT_EQ(row[kAdmittedRead], 0.5);
  EXPECT_EQ(row[kReceived], 250);
  EXPECT_EQ(row[kSent], 0);
  EXPECT_EQ(row[kConnections], 3);
  EXPECT_EQ(row[kSubscriptions], 5);
  EXPECT_FLOAT_EQ(row[kLevelWrite], 0.1F);
  EXPECT_FLOAT_EQ(row[kSetpointWrite], 0.85F);
  EXPECT_FLOAT_EQ(row[kSetpointBulk], 0.70F);
  EXPECT_FLOAT_EQ(row[kSetpointRead], 0.85F);
  EXPECT_TRUE(std::isnan(row[kLimitWrite])) << "nothing limits";
  EXPECT_TRUE(std::isnan(row[kDelayWrite])) << "nobody waited";
  EXPECT_TRUE(std::isnan(row[kOkP50]));
  EXPECT_GE(row[kCpu], 0);
}

TEST_F(SamplerTest, AMomentHasNoRate) {
  Second();
  (void)Write(100);
  clock_.Advance(milliseconds(2));
  EXPECT_TRUE(std::isnan(sampler_.Take(metrics_).row[kAdmittedWrite]));
}

TEST_F(SamplerTest, CountsTheWaitsThatEndedInTheSecond) {
  Say(0.9);
  Tick();
  Second();
  Admission waits = Write(5'000'000);
  ASSERT_TRUE(waits.waiting()) << waits.reason();
  EXPECT_EQ(Second().row[kWaitingWrite], 1);
  waits.Cancel();
  const LiveRow row = Second().row;
  EXPECT_EQ(row[kWaitingWrite], 0);
  EXPECT_EQ(row[kDelayWrite], 1);
  EXPECT_GT(row[kLimitWrite], 0);
  EXPECT_TRUE(std::isnan(Second().row[kDelayWrite]));
}

TEST_F(SamplerTest, AFewMillisecondsAreNotFeltAndALongWaitAndARefusalAre) {
  Say(0.9);
  Tick();
  Second();
  const auto wait_for = [this](Duration time) {
    Admission waits = Write(5'000'000);
    clock_.Advance(time);
    waits.Cancel();
    Second();
  };
  wait_for(milliseconds(20));
  EXPECT_FALSE(sampler_.felt().write);
  wait_for(milliseconds(900));
  EXPECT_TRUE(sampler_.felt().write);
  EXPECT_FALSE(sampler_.felt().bulk);
  EXPECT_FALSE(sampler_.felt().read);
  for (int i = 0; i < 20; ++i) Second();
  EXPECT_FALSE(sampler_.felt().write) << "it is over";
  EXPECT_TRUE(Write(1'000'000'000).refused());
  Second();
  EXPECT_TRUE(sampler_.felt().write);
}

TEST_F(SamplerTest, LatenciesCoverTenSeconds) {
  Second();
  metrics_.counters().EventToOk(milliseconds(4));
  EXPECT_NEAR(Second().row[kOkP50], 0.004, 0.0015);
  for (size_t i = 1; i < RecentLatencies::kSeconds; ++i) EXPECT_FALSE(std::isnan(Second().row[kOkP50])) << i;
  EXPECT_TRUE(std::isnan(Second().row[kOkP50]));
  EXPECT_EQ(sampler_.latencies().seconds(), RecentLatencies::kSeconds);
}

TEST_F(SamplerTest, TurnsOfTheEngineAreMarkedOnce) {
  limiter_->Tick();
  ASSERT_TRUE(limiter_->View().sensor_lost);
  EXPECT_TRUE(Second().marks.empty());
  Say(0.5, 0.5);
  Tick();
  EXPECT_TRUE(Second().marks.empty());
  Say(0.5, 1.3);
  Tick();
  const auto begun = Second().marks;
  ASSERT_EQ(begun.size(), 1U);
  EXPECT_EQ(begun[0].kind, "emergency");
  EXPECT_TRUE(Second().marks.empty());
  Say(0.5, 0.5);
  Tick();
  EXPECT_EQ(Second().marks.at(0).text, "the emergency is over");
  monitor_.Say([](LoadSample* sample) {
    sample->escapes = 2;
    return Status();
  });
  Tick();
  EXPECT_EQ(Second().marks.at(0).kind, "engine");
  clock_.Advance(seconds(10));
  TickUnsampled();
  EXPECT_EQ(Second().marks.at(0).text, "the engine cannot be measured");
  Tick();
  EXPECT_EQ(Second().marks.at(0).text, "the engine is measured again");
}

}  // namespace
}  // namespace weir
