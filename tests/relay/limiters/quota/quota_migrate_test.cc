// weir quota migrate.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/relay/limiters/quota/quota_command_fixture.h"

namespace weir {
namespace {

TEST_F(QuotaCommandTest, MigratesFromStoreToStore) {
  const std::string yaml = "yaml:" + directory_ / "quota.yaml";
  const std::string sqlite = "sqlite:" + directory_ / "quota.db";
  ASSERT_EQ(Command({"set", "gpt-4o", "--rpm", "17", "--store", yaml}).code, 0);
  ASSERT_EQ(Command({"record", "gpt-4o", "600", "300", "--store", yaml}).code, 0);
  ASSERT_EQ(Command({"record", "other", "1", "2", "--store", yaml}).code, 0);
  const std::string moved = yaml + " → " + sqlite + ": 1 quotas, usage of 2 models\n";
  for (int i = 0; i < 2; ++i) {
    const Ran ended = Command({"migrate", yaml, sqlite});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.out, moved);
  }
  EXPECT_TRUE(Has(Command({"stats", "gpt-4o", "--store", sqlite}).out, " 1/17 "))
      << Command({"stats", "--store", sqlite}).out;
  EXPECT_TRUE(Command({"migrate", sqlite, "yaml:" + directory_ / "b.yaml", "--json"})
                  .out.ends_with(R"("quotas":1,"models":2})"
                                 "\n"));
}

TEST_F(QuotaCommandTest, MigratesOnlyWhatStays) {
  const std::string yaml = "yaml:" + directory_ / "quota.yaml";
  ASSERT_EQ(Command({"set", "gpt-4o", "--rpm", "17", "--store", yaml}).code, 0);
  WriteText(directory_ / "no-directory", "a file\n");
  std::filesystem::create_symlink(directory_ / "quota.yaml", directory_ / "link.yaml");
  for (const auto& [from, to, problem] : std::vector<std::array<std::string, 3>>{
           {"memory", yaml, "memory is gone with this process"},
           {yaml, "memory", "memory is gone with this process"},
           {yaml, yaml, "cannot be migrated to itself"},
           {yaml,
            "yaml:" +
                directory_ / ("../" + std::filesystem::path(directory_.path()).filename().string() + "/quota.yaml"),
            "cannot be migrated to itself"},
           {yaml, "yaml:" + directory_ / "link.yaml", "cannot be migrated to itself"},
           {"yaml:" + directory_ / "missing.yaml", yaml, "there is no such file"},
           {"quota.yaml", yaml, "quota.yaml"},
           {yaml, "sqlite:" + directory_ / "no-directory/quota.db", "no-directory"}}) {
    const Ran ended = Command({"migrate", from, to});
    EXPECT_EQ(ended.code, 2) << from << " " << to;
    EXPECT_TRUE(Has(ended.err, problem)) << ended.err;
  }
  EXPECT_TRUE(Has(Command({"models", "--store", yaml}).out, "17"));
}

TEST_F(QuotaCommandTest, AnEmptyStoreReplacesAnotherOnlyByForce) {
  const std::string empty = "sqlite:" + directory_ / "empty.db";
  const std::string yaml = "yaml:" + directory_ / "quota.yaml";
  ASSERT_EQ(Command({"record", "mine", "1", "2", "--store", empty}).code, 0);
  ASSERT_EQ(Command({"reset", "--all", "--store", empty}).code, 0);
  ASSERT_EQ(Command({"set", "gpt-4o", "--rpm", "17", "--store", yaml}).code, 0);
  const Ran refused = Command({"migrate", empty, yaml});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(Has(refused.err, "holds nothing")) << refused.err;
  EXPECT_TRUE(Has(Command({"models", "--store", yaml}).out, "17"));
  EXPECT_EQ(Command({"migrate", empty, yaml, "--force"}).code, 0);
  EXPECT_FALSE(Has(Command({"models", "--store", yaml}).out, "17"));
}

}  // namespace
}  // namespace weir
