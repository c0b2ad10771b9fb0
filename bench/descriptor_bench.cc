// Measures the cost of a request that is limited by descriptors: one descriptor, three of up to three entries, one of
// many values, among ten thousand rules, by two threads at once; and the memory of a name.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/measure/own_memory.h"
#include "config/manual_clock.h"
#include "throttle/limits/descriptors/descriptor_limiter.h"

namespace weir {
namespace {

const WrittenLimit kAThousandASecond{.unit = LimitUnit::kPerSecond, .requests_per_unit = 1000};

std::shared_ptr<DescriptorRules> Rules(int more = 0) {
  auto rules = std::make_shared<DescriptorRules>();
  DescriptorRules::Node* domain = rules->AddDomain("edge");
  const auto add = [](DescriptorRules::Node* node, DescriptorRule rule) { return node->Add(std::move(rule)).value(); };
  add(domain, {.key = "remote_address", .limit = kAThousandASecond});
  auto* path = add(add(domain, {.key = "tenant", .value = "acme"}), {.key = "path", .value = "/v1/*"});
  add(path, {.key = "user", .limit = kAThousandASecond});
  for (int i = 0; i < more; ++i)
    add(domain, {.key = "remote_address", .value = "10.1." + std::to_string(i), .limit = kAThousandASecond});
  return rules;
}

const std::vector<DescriptorEntry> kAddress = {{"remote_address", "192.168.100.200"}};
const std::vector<DescriptorEntry> kUser = {{"tenant", "acme"}, {"path", "/v1/things"}, {"user", "user-1000000"}};
const auto kIgnore = [](const DescriptorAnswer& answer) { benchmark::DoNotOptimize(answer.code); };

void OneDescriptor(benchmark::State& state) {
  static DescriptorLimiter limiter({.rules = Rules()});
  const AskedDescriptor asked[] = {{.entries = kAddress}};
  for (auto _ : state) limiter.Ask({.domain = "edge", .descriptors = asked}, kIgnore);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OneDescriptor)->ThreadRange(1, 2)->UseRealTime();

void AmongTenThousandRules(benchmark::State& state) {
  static DescriptorLimiter limiter({.rules = Rules(10'000)});
  const AskedDescriptor asked[] = {{.entries = kAddress}};
  for (auto _ : state) limiter.Ask({.domain = "edge", .descriptors = asked}, kIgnore);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(AmongTenThousandRules);

void ThreeDescriptors(benchmark::State& state) {
  DescriptorLimiter limiter({.rules = Rules()});
  const AskedDescriptor asked[] = {{.entries = kAddress}, {.entries = kUser}, {.entries = kUser}};
  for (auto _ : state) limiter.Ask({.domain = "edge", .descriptors = asked}, kIgnore);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(ThreeDescriptors);

std::vector<std::string> Values(size_t count) {
  std::vector<std::string> values;
  for (size_t i = 0; i < count; ++i) values.push_back("192.168." + std::to_string(1'000'000 + i));
  return values;
}

void OneOfManyValues(benchmark::State& state) {
  static const std::vector<std::string> values = Values(1'000'000);
  DescriptorLimiter limiter({.rules = Rules()});
  const auto many = static_cast<size_t>(state.range(0));
  size_t at = 0;
  for (auto _ : state) {
    at = (at + 7919) % many;
    const DescriptorEntry entry[] = {{"remote_address", values[at]}};
    const AskedDescriptor asked[] = {{.entries = entry}};
    limiter.Ask({.domain = "edge", .descriptors = asked}, kIgnore);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OneOfManyValues)->Arg(1'000)->Arg(1'000'000);

void BytesOfAName(benchmark::State& state) {
  const std::vector<std::string> values = Values(static_cast<size_t>(state.range(0)));
  const ManualWallClock wall_clock(uint64_t{1'700'000'000});
  const ManualClock clock;
  for (auto _ : state) {
    DescriptorLimiter limiter({.rules = Rules()}, wall_clock, clock);
    const size_t before = HeapBytes();
    for (const std::string& value : values) {
      const DescriptorEntry entry[] = {{"remote_address", value}};
      const AskedDescriptor asked[] = {{.entries = entry}};
      limiter.Ask({.domain = "edge", .descriptors = asked}, kIgnore);
    }
    const size_t held = HeapBytes() - before;
    state.counters["bytes"] = static_cast<double>(held) / static_cast<double>(values.size());
    state.counters["bytes_as_bounded"] =
        static_cast<double>(limiter.Counts().bytes) / static_cast<double>(values.size());
  }
}
BENCHMARK(BytesOfAName)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir
