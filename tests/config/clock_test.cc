#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "config/manual_clock.h"
#include "config/status.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST(Clock, SystemIsTheMachinesMonotonicClock) {
  const TimePoint before = std::chrono::steady_clock::now();
  const TimePoint now = Clock::System().Now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, std::chrono::steady_clock::now());
}

TEST(Clock, ManualStandsUntilMoved) {
  ManualClock clock(TimePoint(5s));
  EXPECT_EQ(clock.Now(), TimePoint(5s));
  clock.Advance(10ms);
  EXPECT_EQ(clock.Now(), TimePoint(5010ms));
  clock.Set(TimePoint(1s));
  EXPECT_EQ(clock.Now(), TimePoint(1s));
}

TEST(Clock, SecondsAreRoundedToTheNearestNanosecond) {
  EXPECT_EQ(FromSeconds(0.3), 300ms);
  EXPECT_EQ(FromSeconds(-1e-9), -1ns);
  EXPECT_EQ(FromSeconds(0.6e-9), 1ns);
  EXPECT_EQ(ToSeconds(1500ms), 1.5);
}

TEST(Status, SuccessHasNoMessage) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().message(), "");
  EXPECT_FALSE(Status::Error("").ok());
  EXPECT_EQ(Status::Error("why").message(), "why");
}

TEST(Result, IsAValueOrAnError) {
  Result<std::string> value = std::string("x");
  EXPECT_TRUE(value.ok());
  EXPECT_TRUE(value.status().ok());
  EXPECT_EQ(std::move(value).value(), "x");
  const Result<int> error = Status::Error("why");
  EXPECT_FALSE(error.ok());
  EXPECT_EQ(error.status().message(), "why");
}

TEST(ResultDeathTest, ValueOfAFailureStopsWithTheMessage) {
  Result<std::string> failed = Status::Error("the target of 64 MiB cannot hold the caches");
  EXPECT_DEATH((void)failed.value(), "the target of 64 MiB cannot hold the caches");
  EXPECT_DEATH((void)std::as_const(failed).value(), "the target of 64 MiB");
  EXPECT_DEATH((void)std::move(failed).value(), "the target of 64 MiB");
}

TEST(ResultDeathTest, ASuccessWithoutAValueIsAFailure) {
  const Result<int> nothing = Status();
  EXPECT_FALSE(nothing.ok());
  EXPECT_DEATH((void)nothing.value(), "no value");
}

TEST(WallClock, CountsWholeSeconds) {
  ManualWallClock clock(WallTime(std::chrono::milliseconds(1999)));
  EXPECT_EQ(clock.NowSeconds(), 1u);
  clock.Advance(std::chrono::milliseconds(1));
  EXPECT_EQ(clock.NowSeconds(), 2u);
}

}  // namespace
}  // namespace weir
