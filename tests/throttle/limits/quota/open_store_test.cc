#include "throttle/limits/quota/open_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "tests/fixtures/temp_directory.h"
#include "throttle/limits/quota/calendar.h"

namespace weir {
namespace {

constexpr const char* kForms =
    "expected one of memory, yaml:PATH, sqlite:PATH, redis://[USER:PASSWORD@]HOST:PORT[/DB], "
    "redis-sentinel://HOST:PORT,.../MASTER[/DB], redis-cluster://HOST:PORT,... (rediss...: over TLS)";

Result<std::unique_ptr<QuotaStore>> OpenNamed(const std::string& name) {
  QuotaStoreSettings settings;
  settings.store = name;
  return OpenQuotaStore(settings);
}

TEST(OpenStore, OpensTheStoreThatTheNameSays) {
  const TempDirectory directory;
  const std::vector<std::string> names = {"memory", "yaml:" + (directory / "a/quota.yaml"),
                                          "sqlite:" + (directory / "b/quota.db")};
  for (const std::string& name : names) {
    const auto store = OpenNamed(name);
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ(store.value()->name(), name);
  }
}

// A store that counts by another clock than the limiter forgets a calendar day that is not over by the limiter's clock.
TEST(OpenStore, CountsByTheClockThatFindsTheCalendarDay) {
  const TempDirectory directory;
  for (const std::string& name :
       {std::string("memory"), "yaml:" + (directory / "quota.yaml"), "sqlite:" + (directory / "quota.db")}) {
    SCOPED_TRACE(name);
    ManualWallClock clock(uint64_t{1'771'597'921});  // 2026-02-20T14:32:01Z
    QuotaStoreSettings settings;
    settings.store = name;
    const auto opened = OpenQuotaStore(settings, false, clock);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    QuotaStore& store = *opened.value();
    const Calendar::Period day = Calendar().DayOf(clock.Now());
    const TierCharge today{
        "user:alice",
        {.kind = Limit::Kind::kCalendarDay, .amount = 1, .per = day.ends.time_since_epoch(), .date = day.date}};
    const auto take = [&] { return store.Run({.model = "m", .mode = Charge::Mode::kTake, .tiers = {&today, 1}}); };
    ASSERT_TRUE(take().fits());
    clock.Set(day.ends - std::chrono::seconds(1));
    store.Prune();
    EXPECT_EQ(take().retry_after, std::chrono::seconds(1));
  }
}

TEST(OpenStore, ARedisThatIsAwayIsNoError) {
  const auto store = OpenNamed("redis://127.0.0.1:1");
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(store.value()->pace(), QuotaStore::Pace::kAsynchronous);
}

TEST(OpenStore, TheErrorListsTheForms) {
  struct Case {
    std::string name;
    std::string error;
  };
  const std::vector<Case> cases = {
      {"memroy", "quota store \"memroy\": there is no such store; "},
      {"", "quota store \"\": there is no such store; "},
      {"memory:", "quota store \"memory:\": there is no such store; "},
      {"yaml", "quota store \"yaml\": the path of the file is missing; "},
      {"sqlite:", "quota store \"sqlite:\": the path of the file is missing; "},
      {"postgres://me:secret@db/quota", "quota store \"postgres://***@db/quota\": there is no such store; "},
  };
  for (const Case& each : cases) {
    const auto store = OpenNamed(each.name);
    ASSERT_FALSE(store.ok()) << each.name;
    EXPECT_EQ(store.status().message(), each.error + kForms);
  }
}

TEST(OpenStore, AFileThatCannotBeUsedIsAnError) {
  const TempDirectory directory;
  WriteText(directory / "file", "quotas: [\n");
  EXPECT_FALSE(OpenNamed("yaml:" + (directory / "file")).ok());
  EXPECT_FALSE(OpenNamed("sqlite:" + (directory / "file/quota.db")).ok());
}

TEST(OpenStore, DoesNotCreateAFileThatMustExist) {
  const TempDirectory directory;
  QuotaStoreSettings settings;
  for (const std::string kind : {"yaml:", "sqlite:"}) {
    const std::string path = directory / "there/quota";
    settings.store = kind + path;
    const auto missing = OpenQuotaStore(settings, true);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.status().message(), "quota store \"" + settings.store + "\": there is no such file");
    EXPECT_FALSE(std::filesystem::exists(directory / "there"));
  }
  settings.store = "yaml:" + (directory / "quota.yaml");
  WriteText(directory / "quota.yaml", "quotas: {}\n");
  EXPECT_TRUE(OpenQuotaStore(settings, true).ok());
}

TEST(OpenStore, TheBoundsAreTheSettings) {
  SettingTable table;
  QuotaStoreSettings settings;
  Declare(table, settings);
  const TempDirectory directory;
  ASSERT_TRUE(table
                  .Load({{"WEIR_QUOTA_STORE", "sqlite:" + (directory / "quota.db")},
                         {"WEIR_QUOTA_MAX_MODELS", "1"},
                         {"WEIR_QUOTA_PERSIST_MS", "0"},
                         {"WEIR_QUOTA_REDIS_VERIFY", "false"}})
                  .ok());
  EXPECT_FALSE(settings.redis_verify);
  EXPECT_EQ(settings.persist_every.count(), 0);
  const auto store = OpenQuotaStore(settings);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto take = [&](std::string_view model) {
    return store.value()->Run(Charge{.model = model, .mode = Charge::Mode::kTake, .tokens = 1}).code;
  };
  EXPECT_EQ(take("gpt-4o"), QuotaCode::kUnknownModel);
  EXPECT_EQ(take("o1"), QuotaCode::kTooManyNames);
}

}  // namespace
}  // namespace weir
