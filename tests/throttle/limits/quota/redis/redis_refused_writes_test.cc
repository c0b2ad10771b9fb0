// A server that answers questions but refuses writes counts as away until it takes writes again, no matter whether
// calls come meanwhile.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "tests/fixtures/redis_process.h"
#include "tests/throttle/limits/quota/redis/deciders.h"
#include "tests/throttle/limits/quota/redis/sentinel_group.h"

namespace weir {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'771'597'921)};
constexpr ModelQuota kQuota{.max_rpm = 10};
const std::string kModel = "gpt-4o";

struct Trouble {
  std::string error;  // the first word of the error
  std::function<void(RedisProcess&)> begin;
  std::function<void(RedisProcess&)> end;
};

void Set(RedisProcess& server, const std::string& name, const std::string& value) {
  ASSERT_TRUE(server.Command({"CONFIG", "SET", name, value}).ok());
}

// The file that the server saves to cannot be created.
void FailToSave(RedisProcess& server) {
  const std::string directory = server.Command({"CONFIG", "GET", "dir"}).Value("dir");
  std::filesystem::create_directories(directory + "/dump.rdb/in the way");
  Set(server, "save", "3600 1000000");
  ASSERT_TRUE(server.Command({"BGSAVE"}).ok());
  ASSERT_TRUE(Eventually([&] { return server.Info("persistence", "rdb_last_bgsave_status") == "err"; }));
}

std::vector<Trouble> Troubles() {
  return {
      {"OOM", [](RedisProcess& s) { Set(s, "maxmemory", "1"); }, [](RedisProcess& s) { Set(s, "maxmemory", "0"); }},
      {"NOREPLICAS", [](RedisProcess& s) { Set(s, "min-replicas-to-write", "9"); },
       [](RedisProcess& s) { Set(s, "min-replicas-to-write", "0"); }},
      {"MISCONF", FailToSave, [](RedisProcess& s) { Set(s, "save", ""); }},
      {"READONLY",
       [](RedisProcess& s) {
         s.Command({"REPLICAOF", "127.0.0.1", "1"});
       },
       [](RedisProcess& s) {
         s.Command({"REPLICAOF", "NO", "ONE"});
       }},
  };
}

RedisStoreOptions Options(const WallClock& clock) {
  return {.timeout = std::chrono::seconds(20),
          .retry_first = std::chrono::milliseconds(10),
          .retry_longest = std::chrono::milliseconds(50),
          .clock = &clock};
}

int64_t Refused(RedisProcess& server, const std::string& error) {
  const std::string stat = server.Info("errorstats", "errorstat_" + error);  // count=12
  return stat.empty() ? 0 : std::stoll(stat.substr(stat.find('=') + 1));
}

bool IsWell(QuotaStore& store) {
  const StoreHealth health = store.Health();
  return health.problem.empty() && health.breaker == StoreHealth::Breaker::kClosed;
}

// The store has taken one request; the server refuses the next.
void ExpectTrouble(QuotaStore& store, RedisProcess& server, const Trouble& trouble) {
  SCOPED_TRACE(trouble.error);
  trouble.begin(server);
  const ChargeAnswer refused = TakeOne(store, kModel, kQuota);
  EXPECT_EQ(refused.code, QuotaCode::kStoreUnavailable);
  EXPECT_NE(refused.problem.find(trouble.error), std::string::npos) << refused.problem;
  // The health stays bad while others only ask, and however often the server is probed.
  EXPECT_TRUE(Eventually([&, enough = Refused(server, trouble.error) + 5] {
    PeekAt(store, kModel);
    const StoreHealth health = store.Health();
    EXPECT_NE(health.breaker, StoreHealth::Breaker::kClosed);
    EXPECT_NE(health.problem.find(trouble.error), std::string::npos) << health.problem;
    return testing::Test::HasFailure() || Refused(server, trouble.error) >= enough;
  }));
  trouble.end(server);
  EXPECT_TRUE(Eventually([&] { return IsWell(store); })) << store.Health().problem;
}

TEST(RedisRefusedWrites, AreSaidUntilTheyAreTaken) {
  RedisProcess server;
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(server.url(), Options(clock));
  int64_t taken = 0;
  for (const Trouble& trouble : Troubles()) {
    const ChargeAnswer one = TakeOne(*store, kModel, kQuota);
    ASSERT_EQ(one.usage.rpm, ++taken) << one.problem;
    ExpectTrouble(*store, server, trouble);
  }
}

TEST(RedisRefusedWrites, AreSaidUntilTakenAlsoBehindSentinels) {
  SentinelGroup group;
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(group.url(), Options(clock));
  ASSERT_TRUE(TakeOne(*store, kModel, kQuota).fits());
  for (const Trouble& trouble : Troubles()) {
    if (trouble.error != "READONLY") ExpectTrouble(*store, *group.servers()[0], trouble);
  }
  EXPECT_EQ(TakeOne(*store, kModel, kQuota).usage.rpm, 2);
}

}  // namespace
}  // namespace weir
