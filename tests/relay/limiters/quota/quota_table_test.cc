// The quota API's answers as people read them.
#include "relay/limiters/quota/quota_table.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const WallTime kNow = WallTime(seconds(1771597920));  // 2026-02-20T14:32:00Z

ModelStats Gpt4o() {
  return {.model = "gpt-4o",
          .quota = ModelQuota{.max_rpm = 500, .max_tpm = 30000},
          .usage = {.rpm = 120, .tpm = 30000, .rpd = 42, .day_start = kNow - hours(21), .open_reservations = 2}};
}

TEST(QuotaTableTest, AlignsWhatIsUsed) {
  const ModelStats local{.model = "größe", .usage = {.rpm = 7, .tpm = 1234567}};
  EXPECT_EQ(UsageTable({Gpt4o(), local}, kNow, false),
            "model   requests/min   tokens/min  requests/day  reserved  day ends in\n"
            "gpt-4o       120/500  30000/30000            42         2          3 h\n"
            "größe              7      1234567             0         0\n");
}

TEST(QuotaTableTest, ShowsSharesAsBars) {
  EXPECT_EQ(UsageTable({Gpt4o(), {.model = "m", .quota = ModelQuota{.max_rpm = 9}}}, kNow, true),
            "model       requests/min            tokens/min  requests/day  reserved  day ends in\n"
            "gpt-4o  █░░░░░░░ 120/500  ████████ 30000/30000            42         2          3 h\n"
            "m       ░░░░░░░░     0/9                     0             0         0\n");
}

TEST(QuotaTableTest, BarsAreFullOnlyWhenNothingIsLeft) {
  for (const auto& [used, bar] : std::vector<std::pair<int64_t, std::string>>{{0, "░░░░░░░░"},
                                                                              {1, "█░░░░░░░"},
                                                                              {500, "████░░░░"},
                                                                              {999, "███████░"},
                                                                              {1000, "████████"},
                                                                              {5000, "████████"}}) {
    const std::string table =
        UsageTable({{.model = "m", .quota = ModelQuota{.max_rpm = 1000}, .usage = {.rpm = used}}}, kNow, true);
    EXPECT_TRUE(Has(table, " " + bar + " " + std::to_string(used) + "/1000 ")) << table;
  }
}

TEST(QuotaTableTest, GivesUpBarsAndThenEndsOfNamesToFit) {
  ModelStats named = Gpt4o();
  named.model = "größe-with-a-name-that-is-long";
  EXPECT_TRUE(Has(UsageTable({Gpt4o()}, kNow, true, 100), "█"));
  EXPECT_EQ(UsageTable({Gpt4o()}, kNow, true, 80), UsageTable({Gpt4o()}, kNow, false));
  EXPECT_EQ(UsageTable({named}, kNow, true, 80),
            "model             requests/min   tokens/min  requests/day  reserved  day ends in\n"
            "größe-with-a-na…       120/500  30000/30000            42         2          3 h\n");
}

TEST(QuotaTableTest, SortsTheFullestModelFirst) {
  const auto model = [](const char* name, int64_t rpm, int64_t limit) {
    return ModelStats{.model = name, .quota = ModelQuota{.max_rpm = limit}, .usage = {.rpm = rpm}};
  };
  std::vector<ModelStats> models = {model("idle", 0, 5), model("unlimited", 9, 0), model("half", 5, 10),
                                    model("full", 2, 2)};
  SortFullestFirst(models);
  std::string order;
  for (const ModelStats& stats : models) order += stats.model + " ";
  EXPECT_EQ(order, "full half unlimited idle ");
}

TEST(QuotaTableTest, EscapesTerminalCommandsInTextOfAGate) {
  const std::string words =
      DecisionWords(R"({"allowed":false,"code":"a\u001b[2J","reason":"b\u001b[2J\u009b2J","model":"m",)"
                    R"("reservation":"c\u0007","tier":"d\u001b","tokens":1,"usage":{}})",
                    "yes")
          .value_or("");
  EXPECT_FALSE(Has(words, "\x1b")) << words;
  EXPECT_FALSE(Has(words, "\a")) << words;
  EXPECT_FALSE(Has(words, "\xc2\x9b")) << words;
  EXPECT_TRUE(Has(words, "b\\x1b[2J\\u009b2J")) << words;
  EXPECT_EQ(ErrorMessage(R"({"error":{"code":"x","message":"no\u001b[2J größe"}})"), "no\\x1b[2J größe");
}

TEST(QuotaTableTest, ADayThatIsOverHasNoEnd) {
  ModelStats stats = Gpt4o();
  stats.usage.day_start = kNow - kDay;
  EXPECT_TRUE(UsageTable({stats}, kNow, false).ends_with("2\n"));
}

TEST(QuotaTableTest, NamesCannotWriteOnTheTerminal) {
  const std::string table = UsageTable({{.model = "a\x1b[2Jb\n"}}, kNow, false);
  EXPECT_FALSE(Has(table, "\x1b"));
  EXPECT_TRUE(Has(table, "a\\x1b[2Jb\\x0a")) << table;
}

TEST(QuotaTableTest, ShowsWhatMayBeUsed) {
  EXPECT_EQ(QuotaTable({Gpt4o(), {.model = "other"}}),
            "model   requests/min  tokens/min  requests/day\n"
            "gpt-4o           500       30000      no limit\n"
            "other     not stated  not stated    not stated\n");
}

TEST(QuotaTableTest, ReadsOneModelOrAll) {
  const std::string one =
      R"({"model":"gpt-4o","quota":{"max_rpm":500,"max_tpm":30000,"max_rpd":0},"usage":{"rpm":120,"tpm":30000,"rpd":42,)"
      R"("day_start":"2026-02-19T17:32:00.25Z","open_reservations":2}})";
  const auto models = ReadModelsJson(one);
  ASSERT_TRUE(models.ok());
  ASSERT_EQ(models.value().size(), 1u);
  EXPECT_EQ(models.value()[0].model, "gpt-4o");
  EXPECT_EQ(models.value()[0].quota, Gpt4o().quota);
  EXPECT_EQ(models.value()[0].usage, Gpt4o().usage);

  const auto all = ReadModelsJson(R"({"models":[)" + one + R"(,{"model":"m","usage":{"rpm":1}}]})");
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all.value().size(), 2u);
  EXPECT_EQ(all.value()[1].quota, std::nullopt);
  EXPECT_EQ(all.value()[1].usage.rpm, 1);
  EXPECT_TRUE(ReadModelsJson(R"({"models":[]})").value().empty());
}

TEST(QuotaTableTest, SaysWhenItIsNoAnswerOfAGate) {
  for (const std::string text : {"", "<html>", "[]", "{}", "7", R"({"models":[{}]})", R"({"models":[{"model":""}]})"}) {
    EXPECT_FALSE(ReadModelsJson(text).ok()) << text;
    EXPECT_FALSE(DecisionWords(text, "allowed")) << text;
    EXPECT_FALSE(SettledWords(text, "committed")) << text;
    EXPECT_FALSE(IsAllowed(text)) << text;
    EXPECT_EQ(ErrorMessage(text), "");
  }
  EXPECT_EQ(ErrorMessage(R"({"error":{"code":"x","message":"no such model"}})"), "no such model");
}

TEST(QuotaTableTest, SaysADecisionInSentences) {
  EXPECT_EQ(DecisionWords(R"({"allowed":true,"code":"ok","model":"gpt-4o","tokens":900,"reservation":"ab@gpt-4o",)"
                          R"("quota":{"max_rpm":500,"max_tpm":30000,"max_rpd":0},)"
                          R"("usage":{"rpm":1,"tpm":900,"rpd":1,"open_reservations":1}})",
                          "reserved"),
            "reserved: gpt-4o, 900 tokens\n"
            "  reservation ab@gpt-4o\n"
            "  requests/min 1 of 500 used\n"
            "  tokens/min   900 of 30000 used\n"
            "  requests/day 1 used, no limit\n");
  EXPECT_EQ(DecisionWords(R"({"allowed":false,"code":"tier_exceeded","reason":"It is too much.","model":"gpt-4o",)"
                          R"("tokens":900,"retry_after_seconds":61.2,"tier":"user_model","usage":{},)"
                          R"("tiers":[{"tier":"user_model","key":"user:alice","unit":"requests","amount":100,)"
                          R"("per_seconds":3600,"used":100,"remaining":0},{"tier":"qos","key":"qos:free:user:alice",)"
                          R"("unit":"tokens","amount":10,"per_seconds":60,"burst":20,"used":3,"remaining":17},)"
                          R"({"tier":"total","key":"total:user:alice","unit":"tokens","amount":10,"per":"day",)"
                          R"("ends":"2026-03-01T00:00:00Z","used":3,"remaining":7}]})",
                          "allowed"),
            "refused: gpt-4o, 900 tokens: tier_exceeded by user_model\n"
            "  It is too much.\n"
            "  try again in 1 min 2 s\n"
            "  tier        counted for          limit                                                used  left\n"
            "  user_model  user:alice           100 requests in 1 h                                  100   0\n"
            "  qos         qos:free:user:alice  10 tokens in 1 min, 20 at once                       3     17\n"
            "  total       total:user:alice     10 tokens in the day that ends 2026-03-01T00:00:00Z  3     7\n");
}

TEST(QuotaTableTest, SaysThatShadowModeRefusesNothing) {
  const auto words = DecisionWords(
      R"({"allowed":true,"shadowed":true,"code":"rpm_exceeded","model":"m","tokens":1,"usage":{}})", "allowed");
  EXPECT_EQ(words, "allowed, because shadow mode refuses nothing: m, 1 tokens: rpm_exceeded\n");
}

TEST(QuotaTableTest, SaysWhatWasSettled) {
  EXPECT_EQ(SettledWords(R"({"settled":true,"model":"gpt-4o","reserved_tokens":900,"actual_tokens":713})", "committed"),
            "committed: gpt-4o, 900 tokens were reserved, 713 used\n");
  EXPECT_EQ(SettledWords(R"({"settled":false,"model":"gpt-4o","reserved_tokens":900,"actual_tokens":500,)"
                         R"("ttl_seconds":59.5})",
                         "committed"),
            "committed: gpt-4o, 900 tokens were reserved, 500 used so far; it has 1 min more\n");
}

TEST(QuotaTableTest, SaysThatItWasCountedBefore) {
  EXPECT_EQ(DecisionWords(R"({"allowed":true,"code":"ok","again":true,"model":"m","tokens":1,"usage":{}})", "reserved"),
            "reserved, as before: m, 1 tokens\n");
}

TEST(QuotaTableTest, SaysMoneyInDecimalsAndCallsAtOnce) {
  EXPECT_EQ(DecisionWords(R"({"allowed":true,"code":"ok","model":"m","tokens":9,"usage":{},"tiers":[)"
                          R"({"tier":"total","key":"user:a","unit":"money","amount":12.5,"per_seconds":86400,)"
                          R"("burst":20.25,"used":0.00175,"remaining":20},{"tier":"total","key":"user:a",)"
                          R"("unit":"calls","amount":2,"used":1,"remaining":1}]})",
                          "allowed"),
            "allowed: m, 9 tokens\n"
            "  tier   counted for  limit                              used     left\n"
            "  total  user:a       12.5 money in 24 h, 20.25 at once  0.00175  20\n"
            "  total  user:a       2 calls at once                    1        1\n");
}

}  // namespace
}  // namespace weir
