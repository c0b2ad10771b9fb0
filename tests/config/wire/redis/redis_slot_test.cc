#include "config/wire/redis/redis_slot.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "tests/fixtures/redis_process.h"

namespace weir {
namespace {

TEST(RedisSlot, IsTheOneOfTheProtocolsExample) {
  EXPECT_EQ(RedisSlot("123456789"), 0x31c3);  // the check value of CRC-16/XMODEM itself, below 16384
  EXPECT_EQ(RedisSlot(""), 0);
}

TEST(RedisSlot, IsThatOfTheTag) {
  EXPECT_EQ(RedisSlot("weir:{gpt-4o}:m"), RedisSlot("gpt-4o"));
  EXPECT_EQ(RedisSlot("weir:{gpt-4o}:t:user:alice"), RedisSlot("{gpt-4o}"));
  EXPECT_EQ(RedisSlot("a{}{b}"), RedisSlot("a{}{b}"));
  EXPECT_NE(RedisSlot("a{}{b}"), RedisSlot("b"));
  EXPECT_EQ(RedisSlot("a{{b}}c"), RedisSlot("{b"));
  EXPECT_NE(RedisSlot("a}{b"), RedisSlot("b"));
}

// The server need not be in a cluster for this, only be able to join one.
TEST(RedisSlot, EqualsTheSlotOfTheServerForAnyKey) {
  RedisProcess server({.kind = RedisProcessOptions::Kind::kClusterNode});
  const auto braces = rc::gen::container<std::string>(rc::gen::element('{', '}', 'a', 'b', '\0'));
  const bool same = rc::check("the server's slot", [&] {
    const std::string key = *rc::gen::oneOf(rc::gen::arbitrary<std::string>(), braces);
    RC_ASSERT(server.Command({"CLUSTER", "KEYSLOT", key}).integer == RedisSlot(key));
  });
  EXPECT_TRUE(same);
}

}  // namespace
}  // namespace weir
