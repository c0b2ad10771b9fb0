#include "throttle/limits/quota/migrate.h"

#include <gtest/gtest.h>

#include "config/manual_clock.h"
#include "tests/throttle/limits/quota/scripted_store.h"
#include "throttle/limits/quota/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

const WallTime kNow{std::chrono::seconds(1'771'597'921)};

QuotaState SomeState() {
  return {{"both",
           {.quota = ModelQuota{.max_rpm = 5},
            .requests = {{kNow - 9s, 1}},
            .tokens = {{kNow - 9s, 70}},
            .day_start = kNow - 1h,
            .day_count = 3}},
          {"quota", {.quota = ModelQuota{.max_tpm = 7}, .requests = {}, .tokens = {}}},
          {"day", {.requests = {}, .tokens = {}, .day_start = kNow - 1h, .day_count = 1}}};
}

TEST(MigrateQuotas, ReplacesTheTargetAndLeavesTheSource) {
  ManualWallClock clock(kNow);
  MemoryQuotaStore from({}, clock);
  MemoryQuotaStore to({}, clock);
  ASSERT_TRUE(from.Import(SomeState()).ok());
  ASSERT_TRUE(to.SetQuota("old", ModelQuota{.max_rpm = 1}).ok());
  for (int i = 0; i < 2; ++i) {
    const auto migrated = MigrateQuotas(from, to);
    ASSERT_TRUE(migrated.ok()) << migrated.status().message();
    EXPECT_EQ(migrated.value().quotas, 2U);
    EXPECT_EQ(migrated.value().models, 2U);
    EXPECT_EQ(to.Export().value(), SomeState());
    EXPECT_EQ(from.Export().value(), SomeState());
  }
}

TEST(MigrateQuotas, SaysWhichSideFailed) {
  ScriptedStore away;
  away.away = true;
  ScriptedStore there;
  there.state = SomeState();
  EXPECT_EQ(MigrateQuotas(away, there).status().message(),
            "nothing was migrated: reading scripted: connection refused");
  EXPECT_EQ(there.state, SomeState());
  EXPECT_EQ(MigrateQuotas(there, away).status().message(),
            "not migrated, or not wholly: writing scripted: connection refused; migrate again");
  ScriptedStore full;
  full.persisted = Status::Error("no space left");
  EXPECT_EQ(MigrateQuotas(there, full).status().message(), "imported into scripted, but not written: no space left");
}

TEST(MigrateQuotas, AnEmptySourceEmptiesTheTargetOnlyByForce) {
  ScriptedStore from;
  ScriptedStore to;
  to.state = SomeState();
  EXPECT_EQ(MigrateQuotas(from, to).status().message(),
            "nothing was migrated: scripted holds nothing, neither quotas nor usage");
  EXPECT_EQ(to.state, SomeState());
  EXPECT_TRUE(MigrateQuotas(from, to, true).ok());
  EXPECT_TRUE(to.state.empty());
}

}  // namespace
}  // namespace weir
