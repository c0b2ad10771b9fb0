// The weir.yaml that GUIDE.md prints for the quotas is good, and means what stands beside it.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "config/manual_clock.h"
#include "config/text/rfc3339.h"
#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/quota_config_reader.h"

namespace weir {
namespace {

std::string YamlOfTheGuide() {
  std::ifstream file(WEIR_SOURCE_DIR "/relay/limiters/GUIDE.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string guide = text.str();
  const std::string fence = "```yaml\n";
  const size_t begin = guide.find(fence, guide.find("\n## Limits of your own\n")) + fence.size();
  return guide.substr(begin, guide.find("```", begin) - begin);
}

TEST(QuotaGuide, ItsFileMeansWhatItSays) {
  QuotaConfig config;
  const Status read = ReadYaml(YamlOfTheGuide(), "weir.yaml",
                               [&](YamlMap& root) { ReadQuotaSection(root.Required("quota"), &config); });
  ASSERT_TRUE(read.ok()) << read.message();
  ASSERT_TRUE(CheckQuotaConfig(config).ok());
  ManualWallClock clock(*ParseTime("2026-11-23T12:00:00Z"));
  MemoryQuotaStore store({}, clock);
  QuotaLimiter limiter(store, config, Clock::System(), nullptr, Sleeper::System(), clock);
  const auto ask = [&](std::string_view model, const Requester& who, int64_t tokens) {
    limiter.RecordUsage(model, tokens, 0, who);
    return limiter.Decide({.model = model, .tokens = 1, .requester = who});
  };
  EXPECT_EQ(ask("o1-pro", {}, 0).code, QuotaCode::kDenied);
  EXPECT_EQ(ask("gpt-4o", {.api_key = "sk-stolen"}, 0).code, QuotaCode::kDenied);
  EXPECT_EQ(ask("gpt-5", {}, 0).code, QuotaCode::kUnknownModel);
  EXPECT_EQ(ask("gpt-4o-2024-08-06", {}, 0).counted_as, "gpt-4o");

  const Decision team = ask("gpt-4o", {.tenant = "acme"}, 1'000'000);
  EXPECT_EQ(team.tier, Tier::kTotal);
  EXPECT_EQ(team.retry_after, *ParseTime("2026-11-30T23:00:00Z") - clock.Now());
  const Decision member = ask("gpt-4o", {.user = "bob", .tenant = "labs"}, 90'000);
  EXPECT_EQ(member.tier, Tier::kTotal);
  EXPECT_EQ(member.retry_after, *ParseTime("2026-11-23T23:00:00Z") - clock.Now());
  EXPECT_EQ(ask("gpt-4o", {.user = "alice"}, 200'000).tier, Tier::kTotal);
  EXPECT_EQ(ask("gpt-4o", {.api_key = "sk-batch"}, 300'000).tier, Tier::kTotal);
  EXPECT_EQ(ask("gpt-4o", {.tenant = "labs", .api_key = "sk-batch"}, 0).code, QuotaCode::kDenied);
  for (int i = 0; i < 19; ++i) EXPECT_FALSE(ask("gpt-4o", {.api_key = "sk-other"}, 0).tier) << i;
  EXPECT_EQ(ask("gpt-4o", {.api_key = "sk-other"}, 0).tier, Tier::kTotal);
}

}  // namespace
}  // namespace weir
