// Answers that no script gives: from a manipulated server, or from something else behind its port.
#include "throttle/limits/quota/redis/redis_messages.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/config/wire/redis/reply_of.h"
#include "throttle/limits/quota/redis/redis_numbers.h"
#include "throttle/limits/quota/redis/redis_script.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr double kHuge = 1e300;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr WallTime kNow{1'700'000'000s};

std::string Bulk(const std::string& text) { return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n"; }

std::string Numbers(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) AppendRedisNumber(number, &text);
  return text;
}

std::vector<RedisMessages::KnownModel> ModelsOf(const std::string& wire) {
  return RedisMessages({}, false).ParseModels(*ReplyOf(wire)).value();
}

TEST(RedisMessages, SkipsAModelWithAScoreThatIsNotText) {
  for (const std::string score : {":5\r\n", "$-1\r\n", "*0\r\n"})
    EXPECT_TRUE(ModelsOf("*2\r\n" + Bulk("weir:{o1}:m") + score).empty()) << score;
  EXPECT_TRUE(ModelsOf("*2\r\n:1\r\n:2\r\n").empty());
}

TEST(RedisMessages, ClampsTimesToTheRangeOfAClock) {
  constexpr WallTime kLast{std::chrono::floor<std::chrono::microseconds>(Duration::max())};
  for (const auto& [score, time] : std::vector<std::pair<std::string, WallTime>>{
           {"1e16", kLast}, {"-1e16", kLast}, {"-1e300", kLast}, {"-inf", kLast}, {"nan", WallTime()}}) {
    const auto models = ModelsOf("*2\r\n" + Bulk("weir:{o1}:m") + Bulk(score));
    ASSERT_EQ(models.size(), 1U);
    EXPECT_EQ(models[0].kept_until, time) << score;
  }
  for (const double number : {kHuge, -kHuge, kNone}) {
    std::vector<double> answer(24, number);
    answer[1] = answer[3] = 0;  // the numbers of the code and the unit
    answer[2] = -1;
    const auto charged = RedisMessages::ParseCharge(*ReplyOf(Bulk(Numbers(answer))), 0, "");
    ASSERT_TRUE(charged.has_value());
    EXPECT_EQ(charged->now, number > 0 ? kLast : WallTime());
    EXPECT_EQ(charged->answer.usage.day_start, charged->now);
    answer.resize(9);
    answer[0] = 0;
    answer[4] = number;
    const auto settled = RedisMessages::ParseSettlement(*ReplyOf(Bulk(Numbers(answer))), "o1");
    ASSERT_TRUE(settled.has_value());
    EXPECT_EQ(settled->answer.time_left, charged->now.time_since_epoch());
  }
}

TEST(RedisMessages, RefusesAnAnswerWithUnknownNumbers) {
  const auto charge = [](double code, double tier, double unit) {
    std::vector<double> answer(26, 0);
    answer[1] = code;
    answer[2] = tier;
    answer[3] = unit;
    return RedisMessages::ParseCharge(*ReplyOf(Bulk(Numbers(answer))), 1, "").has_value();
  };
  const auto settlement = [](double code) {
    std::vector<double> answer(9, 0);
    answer[0] = code;
    return RedisMessages::ParseSettlement(*ReplyOf(Bulk(Numbers(answer))), "o1").has_value();
  };
  EXPECT_TRUE(charge(0, -1, 0));
  EXPECT_TRUE(charge(kQuotaCodes - 1, 0, 3));
  EXPECT_FALSE(charge(-1, 0, 0));
  EXPECT_FALSE(charge(kQuotaCodes, 0, 0));
  EXPECT_FALSE(charge(0, 1, 0));
  EXPECT_FALSE(charge(0, 0, -1));
  EXPECT_FALSE(charge(0, 0, 4));
  EXPECT_TRUE(settlement(4));
  EXPECT_FALSE(settlement(5));
  EXPECT_FALSE(settlement(-1));
}

TEST(RedisMessages, ALogWithAnImpossibleHeaderIsEmpty) {
  for (const auto& [head, tail] : std::vector<std::pair<double, double>>{
           {-kHuge, kHuge}, {-1, 1}, {kHuge, -kHuge}, {5, 4}, {0, kRedisRing + 1.0}, {0, kHuge}}) {
    std::vector<double> header(kRedisModelHeader / kRedisNumberBytes, 0);
    header[0] = head;
    header[1] = tail;
    header[7] = -kHuge;  // the beginning of the day
    header[8] = 5;
    EXPECT_EQ(ReadRedisModel(Numbers(header), kNow), ModelState()) << head << " to " << tail;
  }
}

}  // namespace
}  // namespace weir
