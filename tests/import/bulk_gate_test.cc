#include "import/bulk_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "config/manual_clock.h"
#include "tests/fixtures/eventually.h"
#include "tests/throttle/scripted_monitor.h"

namespace weir {
namespace {

// In a long emergency, of an engine whose drain is unknown, bulk work gets 16 KiB/s: 1 MB within its longest wait.
TEST(BulkGate, PaysInPartsForAWriteThatIsTooLargeForTheLowestLimit) {
  ManualClock clock{TimePoint{std::chrono::hours(1)}};
  ScriptedMonitor monitor{clock};
  AdaptiveLimiter limiter{monitor, {}};
  const auto tick = [&] {
    clock.Advance(std::chrono::milliseconds(100));
    (void)monitor.SampleOnce();
    limiter.Tick();
    limiter.Pump();
  };
  monitor.Say([](LoadSample* sample) {
    sample->memory_pressure = 2.0;
    return Status();
  });
  for (int n = 0; n < 110; ++n) tick();
  ASSERT_TRUE(limiter.View().emergency && !limiter.View().emergency_holds);

  BulkGate gate(&limiter, {.id = 1, .work_class = WorkClass::kBulk}, clock);
  std::optional<Admission> permit;
  std::atomic<bool> entered = false;
  std::jthread import([&] { entered = gate.Enter(2 << 20, &permit); });
  EXPECT_TRUE(Eventually([&] {
    for (int n = 0; n < 10; ++n) tick();
    return entered.load();
  }));
  gate.Stop();
  import.join();
  EXPECT_TRUE(permit.has_value());
  EXPECT_EQ(limiter.Stats(Operation::kWrite).admitted[WorkClass::kBulk].bytes, 2U << 20);
  ImportConditions conditions;
  gate.Describe(&conditions);
  EXPECT_EQ(conditions.throttled, 1U);
  permit.reset();
}

}  // namespace
}  // namespace weir
