#include "config/wire/redis/redis_cluster_map.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/config/wire/redis/reply_of.h"

namespace weir {
namespace {

const RedisAddress kAsked{.host = "10.0.0.1", .port = 7000};

// Parses a server's reply, written with a line break for each "\r\n".
Result<std::vector<RedisSlotRange>> Parse(std::string wire) {
  for (size_t at = 0; (at = wire.find('\n', at)) != std::string::npos; at += 2) wire.replace(at, 1, "\r\n");
  const RedisReply reply = ReplyOf(wire);
  if (reply != nullptr) return ParseClusterSlots(*reply, kAsked);
  ADD_FAILURE() << "no reply: " << wire;
  return Status::Error("no reply");
}

TEST(ClusterSlots, NameTheMasterOfEachSlotRange) {
  const auto ranges = Parse(
      "*2\n"
      "*4\n:0\n:5460\n*4\n$8\n10.0.0.2\n:7001\n$2\nid\n*0\n*3\n$8\n10.0.0.3\n:7002\n$2\nid\n"  // with a replica
      "*3\n:5461\n:16383\n*2\n$3\n::1\n:7003\n");
  ASSERT_TRUE(ranges.ok()) << ranges.status().message();
  const std::vector<RedisSlotRange> expected = {
      {.first = 0, .last = 5460, .master = {.host = "10.0.0.2", .port = 7001}},
      {.first = 5461, .last = 16383, .master = {.host = "::1", .port = 7003}}};
  EXPECT_EQ(ranges.value(), expected);
}

TEST(ClusterSlots, AHostThatTheNodeDoesNotKnowIsThatOfTheNodeAsked) {
  for (const std::string host : {"$0\n\n", "$-1\n"}) {
    const auto ranges = Parse("*1\n*3\n:0\n:1\n*2\n" + host + ":7001\n");
    ASSERT_TRUE(ranges.ok()) << ranges.status().message();
    EXPECT_EQ(ranges.value()[0].master, (RedisAddress{.host = "10.0.0.1", .port = 7001}));
  }
}

TEST(ClusterSlots, AMasterWithoutAddressHasNoSlots) {
  const auto ranges = Parse("*2\n*3\n:0\n:1\n*2\n$1\n?\n:7001\n*3\n:2\n:3\n*2\n$1\na\n:7001\n");
  ASSERT_TRUE(ranges.ok()) << ranges.status().message();
  ASSERT_EQ(ranges.value().size(), 1u);
  EXPECT_EQ(ranges.value()[0].first, 2);
}

TEST(ClusterSlots, AnythingElseIsAnError) {
  for (const std::string wire :
       {"+OK\n", ":1\n", "$-1\n", "*-1\n", "*0\n", "*1\n:1\n", "*1\n*2\n:0\n:1\n",
        "*1\n*3\n:0\n:16384\n*2\n$1\na\n:1\n", "*1\n*3\n:-1\n:1\n*2\n$1\na\n:1\n", "*1\n*3\n:2\n:1\n*2\n$1\na\n:1\n",
        "*1\n*3\n:0\n:1\n*2\n$1\na\n:65536\n", "*1\n*3\n:0\n:1\n*1\n$1\na\n", "*1\n*3\n:0\n:1\n*2\n:1\n:1\n",
        "*1\n*3\n:0\n:1\n$1\na\n"}) {
    EXPECT_FALSE(Parse(wire).ok()) << wire;
  }
  EXPECT_EQ(Parse("-ERR no cluster\n").status().message(), "ERR no cluster");
}

TEST(Redirection, NamesItsTarget) {
  const auto moved = [](uint16_t slot, const std::string& host, uint16_t port, bool ask) {
    return RedisRedirection{.ask = ask, .slot = slot, .to = {.host = host, .port = port}};
  };
  EXPECT_EQ(ParseRedirection("MOVED 3999 127.0.0.1:6381", kAsked), moved(3999, "127.0.0.1", 6381, false));
  EXPECT_EQ(ParseRedirection("ASK 0 node-7.example:1", kAsked), moved(0, "node-7.example", 1, true));
  EXPECT_EQ(ParseRedirection("ASK 16383 ::1:65535", kAsked), moved(16383, "::1", 65535, true));
  EXPECT_EQ(ParseRedirection("MOVED 1 :7", kAsked), moved(1, "10.0.0.1", 7, false));
}

TEST(Redirection, IsAbsentFromOtherErrors) {
  for (const std::string error : {"", "MOVED", "MOVED ", "MOVED 1", "MOVED 1 ", "MOVED 1 a", "MOVED 1 a:",
                                  "MOVED 1 a:0", "MOVED 1 a:65536", "MOVED 16384 a:1", "MOVED -1 a:1", "MOVED x a:1",
                                  "moved 1 a:1", "MOVED 1 ?:1", "ERR MOVED 1 a:1", "TRYAGAIN Multiple keys"}) {
    EXPECT_FALSE(ParseRedirection(error, kAsked)) << error;
  }
}

}  // namespace
}  // namespace weir
