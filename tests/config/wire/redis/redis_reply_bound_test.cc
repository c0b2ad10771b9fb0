// Replies of something that is a broken Redis, or no Redis: they end when they become too large.
#include "config/wire/redis/redis_reply_bound.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "config/wire/redis/redis_call.h"

namespace weir {
namespace {

constexpr RedisReplyLimits kLimits{.bytes = 4000, .elements = 10};

class RedisReplyBoundTest : public testing::Test {
 protected:
  RedisReplyBoundTest() : reader_(redisReaderCreate(), &redisReaderFree) { bound_.Watch(reader_.get()); }

  RedisReply Feed(std::string_view wire) {
    redisReaderFeed(reader_.get(), wire.data(), wire.size());
    void* reply = nullptr;
    redisReaderGetReply(reader_.get(), &reply);
    return RedisReply(static_cast<redisReply*>(reply));
  }

  RedisReplyBound bound_{kLimits};
  std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader_;
};

TEST_F(RedisReplyBoundTest, LetsEachReplyHaveTheWhole) {
  const std::string text = "$4000\r\n" + std::string(4000, 'x') + "\r\n";
  for (int n = 0; n < 3; ++n) {
    const RedisReply whole = Feed(text);
    ASSERT_NE(whole, nullptr);
    EXPECT_EQ(whole->len, 4000U);
    const RedisReply array = Feed("*4\r\n:1\r\n*6\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n+three\r\n$-1\r\n");
    ASSERT_NE(array, nullptr);
    EXPECT_EQ(array->element[1]->elements, 6U);
    EXPECT_EQ(TextOf(*array->element[2]), "three");
    EXPECT_FALSE(bound_.IsExceeded());
  }
}

TEST_F(RedisReplyBoundTest, MakesNoRoomForAnArrayThatIsTooLarge) {
  EXPECT_EQ(Feed("*11\r\n"), nullptr);
  EXPECT_TRUE(bound_.IsExceeded());
  EXPECT_NE(bound_.Problem().find("10 elements"), std::string::npos);
}

TEST_F(RedisReplyBoundTest, CountsTheArraysWithinAnArray) {
  EXPECT_EQ(Feed("*5\r\n*2\r\n:1\r\n:2\r\n*3\r\n:1\r\n:2\r\n:3\r\n"), nullptr);
  EXPECT_FALSE(bound_.IsExceeded()) << "10 of 10";
  EXPECT_EQ(Feed("*1\r\n"), nullptr);
  EXPECT_TRUE(bound_.IsExceeded());
}

TEST_F(RedisReplyBoundTest, CountsTheTextsOfAnArrayTogether) {
  std::string wire = "*3\r\n";
  for (int n = 0; n < 3; ++n) wire += "$1500\r\n" + std::string(1500, 'x') + "\r\n";
  EXPECT_EQ(Feed(wire), nullptr);
  EXPECT_TRUE(bound_.IsExceeded());
}

TEST_F(RedisReplyBoundTest, EndsATextThatHasNoEnd) {
  EXPECT_EQ(Feed("$9999999999\r\n"), nullptr);
  EXPECT_FALSE(bound_.IsExceeded());
  for (int n = 0; n < 6; ++n) EXPECT_EQ(Feed(std::string(1000, 'x')), nullptr);
  EXPECT_TRUE(bound_.IsExceeded());
}

TEST_F(RedisReplyBoundTest, EndsALineThatHasNoEnd) {
  for (int n = 0; n < 6; ++n) EXPECT_EQ(Feed(n == 0 ? "+" : std::string(1100, 'x')), nullptr);
  EXPECT_TRUE(bound_.IsExceeded());
}

}  // namespace
}  // namespace weir
