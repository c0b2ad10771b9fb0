// The suite of all stores, on a Redis Cluster and on servers that sentinels watch.
#include <memory>

#include "tests/throttle/limits/quota/redis/cluster_servers.h"
#include "tests/throttle/limits/quota/redis/deciders.h"
#include "tests/throttle/limits/quota/redis/sentinel_group.h"
#include "tests/throttle/limits/quota/store_suite.h"

namespace weir {
namespace {

StoreUnderTest OpenOn(const std::string& url, const WallClock& clock, const StoreBounds& bounds) {
  const auto open = [url, &clock, bounds] {
    return OpenRedis(url, {.timeout = std::chrono::seconds(60),
                           .connect_timeout = std::chrono::seconds(60),
                           .max_models = bounds.max_models,
                           .max_tier_keys = bounds.max_tier_keys,
                           .max_named_ended = bounds.max_named_ended,
                           .clock = &clock});
  };
  return {.store = open(), .open_another = open};
}

// One cluster for all tests. Each test finds it empty. On a busy machine a node may stand still for seconds, and the
// others must not take it for dead.
StoreUnderTest OpenCluster(const WallClock& clock, const StoreBounds& bounds) {
  static ClusterServers cluster({.config = {"cluster-node-timeout 60000"}});
  for (size_t node = 0; node < cluster.size(); ++node) cluster.node(node).Command({"FLUSHALL"});
  return OpenOn(cluster.url(), clock, bounds);
}

StoreUnderTest OpenSentinel(const WallClock& clock, const StoreBounds& bounds) {
  static SentinelGroup group({.down_after = std::chrono::minutes(1), .password = "secret"});
  group.servers()[0]->Command({"FLUSHALL"});
  return OpenOn(group.url(), clock, bounds);
}

INSTANTIATE_TEST_SUITE_P(RedisMany, QuotaStoreSuite,
                         testing::Values(StoreKind{.name = "cluster",
                                                   .open = OpenCluster,
                                                   .resolution = std::chrono::microseconds(1),
                                                   .property_rounds = 5,
                                                   .bounds_whole = false,
                                                   .forgets_at_once = false},
                                         StoreKind{.name = "sentinel",
                                                   .open = OpenSentinel,
                                                   .resolution = std::chrono::microseconds(1),
                                                   .property_rounds = 5,
                                                   .default_quota_frees = false,
                                                   .forgets_at_once = false}),
                         NameOfKind);

}  // namespace
}  // namespace weir
