#include "throttle/token_bucket.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr TimePoint kStart{hours(1)};

TokenBucket Bucket(double rate, double depth, double tokens = 0) {
  TokenBucket bucket;
  bucket.SetRate(kStart, rate, depth);
  bucket.SetTokens(kStart, tokens);
  return bucket;
}

TEST(TokenBucket, RefillsContinuouslyUpToItsDepth) {
  TokenBucket bucket = Bucket(1000, 500);
  bucket.Refill(kStart + milliseconds(100));
  EXPECT_DOUBLE_EQ(bucket.tokens(), 100);
  bucket.Refill(kStart + seconds(100));
  EXPECT_DOUBLE_EQ(bucket.tokens(), 500);
}

TEST(TokenBucket, TimeBeforeAChangeCountsAtTheOldRate) {
  TokenBucket bucket = Bucket(1000, 10'000);
  bucket.SetRate(kStart + seconds(1), 1, 10'000);
  EXPECT_DOUBLE_EQ(bucket.tokens(), 1000);
}

TEST(TokenBucket, MoreThanItHoldsNeverPassesAtOnce) {
  TokenBucket bucket = Bucket(100, 500, 400);
  bucket.Refill(kStart + hours(1));
  EXPECT_TRUE(bucket.Has(500));
  EXPECT_FALSE(bucket.Has(501));
  EXPECT_DOUBLE_EQ(bucket.SecondsUntil(2000), 15) << "in pieces";
}

TEST(TokenBucket, ABoundOnTheDebtNeverForgivesAnOlderOne) {
  TokenBucket bucket = Bucket(100, 500, 500);
  bucket.Take(2000);
  bucket.Take(100, -600);
  EXPECT_DOUBLE_EQ(bucket.tokens(), -1500);
}

TEST(TokenBucket, AClockThatStepsBackRefillsNothingForThatStep) {
  TokenBucket bucket = Bucket(1000, 500);
  bucket.Refill(kStart - seconds(30));
  EXPECT_DOUBLE_EQ(bucket.tokens(), 0);
  bucket.Refill(kStart - seconds(30) + milliseconds(100));
  EXPECT_DOUBLE_EQ(bucket.tokens(), 100);
}

TEST(TokenBucket, AnInfiniteRatePassesEverything) {
  TokenBucket bucket = Bucket(kInfinity, 10);
  EXPECT_TRUE(bucket.unlimited());
  EXPECT_TRUE(bucket.Has(1e300));
  bucket.Take(1e300);
  EXPECT_EQ(bucket.SecondsUntil(1e300), 0);
  bucket.SetRate(kStart + seconds(1), 100, 10);
  EXPECT_DOUBLE_EQ(bucket.tokens(), 10) << "nothing of it is owed when it ends";
}

TEST(TokenBucket, AtNoRateTheTurnNeverComes) {
  for (double rate : {0.0, -5.0, std::numeric_limits<double>::quiet_NaN()}) {
    TokenBucket bucket = Bucket(rate, 10);
    bucket.Refill(kStart + hours(1));
    EXPECT_EQ(bucket.tokens(), 0) << rate;
    EXPECT_FALSE(bucket.Has(1));
    EXPECT_EQ(bucket.SecondsUntil(1), kInfinity);
  }
}

RC_GTEST_PROP(TokenBucketProperty, SecondsUntilIsWhenItHas, ()) {
  const double rate = *rc::gen::inRange(1, 1'000'000'000);
  const int depth = *rc::gen::inRange(0, 1'000'000'000);
  TokenBucket bucket = Bucket(rate, depth, -static_cast<double>(*rc::gen::inRange(0, 1'000'000'000)));
  const double bytes = *rc::gen::inRange(0, depth + 1);
  const double wait_s = bucket.SecondsUntil(bytes);
  bucket.Refill(kStart + FromSeconds(wait_s) + std::chrono::microseconds(1));
  RC_ASSERT(bucket.Has(bytes));
}

// In any schedule of rates, takes and clock steps, the bytes passed are at most the bytes that came in, plus the first
// depth.
RC_GTEST_PROP(TokenBucketProperty, TokensAreConserved, ()) {
  const double depth = *rc::gen::inRange(1, 10'000);
  double rate = *rc::gen::inRange(0, 100'000);
  TokenBucket bucket = Bucket(rate, depth, depth);
  TimePoint now = kStart;
  double earned = depth;
  double taken = 0;
  for (int n = *rc::gen::inRange(1, 200); n > 0; --n) {
    const Duration step = Duration(*rc::gen::inRange<int64_t>(-100'000'000, 200'000'000));
    now += step;
    earned += rate * std::max(0.0, ToSeconds(step));
    bucket.Refill(now);
    const double bytes = *rc::gen::inRange(0, 20'000);
    if (bucket.Has(bytes)) {
      bucket.Take(bytes);
      taken += bytes;
    }
    if (*rc::gen::inRange(0, 5) == 0) bucket.SetRate(now, rate = *rc::gen::inRange(0, 100'000), depth);
  }
  RC_ASSERT(taken <= earned + 1e-6);
}

}  // namespace
}  // namespace weir
