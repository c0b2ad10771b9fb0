#include <atomic>
#include <functional>
#include <thread>

#include "tests/fixtures/eventually.h"
#include "tests/throttle/limits/descriptors/descriptor_fixture.h"

namespace weir {
namespace {

TEST(DescriptorThreads, AdmitsExactlyTheLimitFromManyThreadsWhileRulesChange) {
  constexpr uint32_t kLimit = 15'000;
  constexpr int kThreads = 4, kEach = 10'000;
  const auto make = [](const DescriptorRules* before) {
    auto rules = std::make_shared<DescriptorRules>(before);
    DescriptorRules::Node* domain = rules->AddDomain("d");
    EXPECT_TRUE(domain->Add({.key = "a", .limit = PerUnit(kLimit, LimitUnit::kPerYear)}).ok());
    EXPECT_TRUE(domain->Add({.key = "b", .limit = PerUnit(0, LimitUnit::kPerYear), .shadow_mode = true}).ok());
    return rules;
  };
  const ManualWallClock wall_clock(uint64_t{1'700'000'000});
  const ManualClock clock;
  DescriptorLimiter limiter({.rules = make(nullptr), .shards = 2}, wall_clock, clock);
  std::atomic<uint64_t> passed{0}, answered{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) {
        const std::string own = "b=" + std::to_string(i % 50);
        const auto shared = EntriesOf("a=1");
        const auto other = EntriesOf(own);
        const AskedDescriptor asked[] = {{.entries = shared}, {.entries = other}};
        limiter.Ask({.domain = "d", .descriptors = asked}, [&](const DescriptorAnswer& answer) {
          if (answer.code == DescriptorAnswer::Code::kOk) ++passed;
          ++answered;
        });
        if (thread == 0 && i % 500 == 0) limiter.SetRules(make(limiter.rules().get()));
        if (thread == 1 && i % 100 == 0) limiter.Tick();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  limiter.Tick();
  EXPECT_EQ(answered, uint64_t{kThreads} * kEach);
  EXPECT_EQ(passed, kLimit);
  const auto rules = limiter.rules();
  EXPECT_EQ(rules->counted().at({"d", "a"})->hits, uint64_t{kThreads} * kEach);
  EXPECT_EQ(rules->counted().at({"d", "b"})->shadow, uint64_t{kThreads} * kEach);
  EXPECT_EQ(limiter.Counts().names, 51u);
}

TEST(DescriptorThreads, ForgetsByItself) {
  auto rules = std::make_shared<DescriptorRules>();
  EXPECT_TRUE(rules->AddDomain("d")->Add({.key = "a", .limit = PerUnit(1, LimitUnit::kPerSecond)}).ok());
  DescriptorLimiter limiter({.rules = rules});
  const auto entries = EntriesOf("a=1");
  const AskedDescriptor asked[] = {{.entries = entries}};
  limiter.Ask({.domain = "d", .descriptors = asked}, [](const DescriptorAnswer&) {});
  EXPECT_TRUE(Eventually([&] { return limiter.Counts().names == 0; }));
}

}  // namespace
}  // namespace weir
