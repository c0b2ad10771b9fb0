// Facts about a server, read from INFO.
#include <gtest/gtest.h>

#include <string>

#include "config/wire/redis/redis_connection.h"

namespace weir {
namespace {

std::string Info(const std::string& version) {
  return "# Server\r\nredis_version:" + version + "\r\nredis_git_sha1:00000000\r\n";
}

TEST(RedisInfo, ServersFrom7OnAreTaken) {
  for (const std::string version : {"7.0.0", "7.0.15", "7.2.4", "8.0", "10.1.2", "", "unknown"})
    EXPECT_TRUE(CheckRedisServer(Info(version)).ok()) << version;
  EXPECT_TRUE(CheckRedisServer("").ok());
  for (const std::string version : {"6.2.14", "5.0.3", "2.8"}) {
    const Status checked = CheckRedisServer(Info(version));
    ASSERT_FALSE(checked.ok()) << version;
    EXPECT_EQ(checked.message(), "it is Redis " + version + ", and weir needs 7 or later");
  }
}

TEST(RedisInfo, WarnsOfAPolicyOnlyIfMemoryIsBounded) {
  const auto memory = [](const std::string& most, const std::string& policy) {
    return "# Memory\r\nused_memory:1\r\nmaxmemory:" + most + "\r\nmaxmemory_human:x\r\nmaxmemory_policy:" + policy +
           "\r\n";
  };
  EXPECT_EQ(WarnOfEviction(memory("0", "allkeys-lru")), "");
  EXPECT_EQ(WarnOfEviction(memory("100", "noeviction")), "");
  EXPECT_EQ(WarnOfEviction(""), "");
  EXPECT_NE(WarnOfEviction(memory("100", "volatile-ttl")).find("volatile-ttl"), std::string::npos);
}

}  // namespace
}  // namespace weir
