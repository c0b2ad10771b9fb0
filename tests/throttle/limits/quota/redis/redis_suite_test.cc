// The suite of all stores on Redis, plain and over TLS. Keys expire by the tests' clock.
#include <memory>

#include "tests/fixtures/redis_process.h"
#include "tests/throttle/limits/quota/redis/deciders.h"
#include "tests/throttle/limits/quota/redis/reaped_clock.h"
#include "tests/throttle/limits/quota/store_suite.h"
#include "throttle/limits/quota/redis/redis_store.h"

namespace weir {
namespace {

// A script of many thousand entries takes long on a busy machine.
constexpr std::chrono::seconds kPatience{60};

std::unique_ptr<QuotaStore> MakeStore(const RedisProcess& server, const WallClock& clock, const StoreBounds& bounds) {
  return OpenRedis(server.url(), {.timeout = kPatience,
                                  .connect_timeout = kPatience,
                                  .ca_file = server.ca_file(),
                                  .max_models = bounds.max_models,
                                  .max_tier_keys = bounds.max_tier_keys,
                                  .max_named_ended = bounds.max_named_ended,
                                  .clock = &clock});
}

StoreUnderTest OpenOn(const std::shared_ptr<RedisProcess>& server, const WallClock& clock, const StoreBounds& bounds) {
  server->Command({"FLUSHALL"});
  const auto reaped = std::make_shared<ReapedClock>(clock, *server);
  return {.keep = reaped, .store = MakeStore(*server, *reaped, bounds), .open_another = [server, reaped, bounds] {
            return MakeStore(*server, *reaped, bounds);
          }};
}

// One server for all tests. Each test finds it empty.
StoreUnderTest OpenPlain(const WallClock& clock, const StoreBounds& bounds) {
  static const auto kServer = std::make_shared<RedisProcess>();
  return OpenOn(kServer, clock, bounds);
}

StoreUnderTest OpenTls(const WallClock& clock, const StoreBounds& bounds) {
  static const auto kServer = std::make_shared<RedisProcess>(RedisProcessOptions{.tls = true});
  return OpenOn(kServer, clock, bounds);
}

INSTANTIATE_TEST_SUITE_P(Redis, QuotaStoreSuite,
                         testing::Values(StoreKind{.name = "redis",
                                                   .open = OpenPlain,
                                                   .resolution = std::chrono::microseconds(1),
                                                   .property_rounds = 20,
                                                   .default_quota_frees = false,
                                                   .forgets_at_once = false},
                                         StoreKind{.name = "tls",
                                                   .open = OpenTls,
                                                   .resolution = std::chrono::microseconds(1),
                                                   .property_rounds = 5,
                                                   .default_quota_frees = false,
                                                   .forgets_at_once = false}),
                         NameOfKind);

}  // namespace
}  // namespace weir
