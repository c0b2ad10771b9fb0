// The header fields of the three dialects.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <regex>
#include <string>

#include "relay/limiters/quota/quota_headers.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Unit = Limit::Unit;

const WallTime kNow{std::chrono::seconds(1771597920)};  // 2026-02-20T14:32:00Z

std::string Lines(const HttpFields& fields) {
  std::string text;
  for (const auto& [name, value] : fields) text.append(name).append(": ").append(value).append("\n");
  return text;
}
std::string Lines(const Decision& decision, int64_t tokens, RateLimitDialect dialect = RateLimitDialect::kIetf) {
  return Lines(RateLimitFields(decision, tokens, false, dialect, kNow));
}

Decision Allowed() {
  return {.allowed = true,
          .quota = ModelQuota{.max_rpm = 500, .max_tpm = 30000, .max_rpd = 1000},
          .usage = {.rpm = 1, .tpm = 900, .rpd = 11, .day_start = kNow - 1h}};
}
// 900 tokens do not fit for 12 s.
Decision Refused() {
  Decision decision = Allowed();
  decision.allowed = false;
  decision.code = QuotaCode::kTpmExceeded;
  decision.retry_after = 11s + 1ns;
  decision.usage.tpm = 29500;
  return decision;
}
TierState Hour(int64_t used) {
  const Limit limit{.unit = Unit::kRequests, .amount = 100, .per = 1h};
  return {Tier::kUserModel, "user:alice", limit, used, 100 - used};
}

TEST(RateLimitFields, FollowTheDraft) {
  EXPECT_EQ(Lines(Allowed(), 900),
            "RateLimit-Policy: \"rpd\";q=1000;w=86400, \"rpm\";q=500;w=60, \"tpm\";q=30000;w=60;qu=\"tokens\"\n"
            "RateLimit: \"rpd\";r=989;t=82800, \"rpm\";r=499;t=60, \"tpm\";r=29100;t=60\n");
}

TEST(RateLimitFields, AreLeftOutWithoutALimit) {
  EXPECT_EQ(Lines({.allowed = true}, 900), "");
  EXPECT_EQ(Lines({.allowed = true, .quota = ModelQuota{}}, 900), "");
  EXPECT_EQ(Lines({.allowed = true, .quota = ModelQuota{.max_tpm = 5}}, 5),
            "RateLimit-Policy: \"tpm\";q=5;w=60;qu=\"tokens\"\nRateLimit: \"tpm\";r=5;t=0\n");
  EXPECT_EQ(Lines({.allowed = true, .quota = ModelQuota{.max_tpm = 5}}, 5, RateLimitDialect::kOpenAi),
            "x-ratelimit-limit-tokens: 5\nx-ratelimit-remaining-tokens: 5\nx-ratelimit-reset-tokens: 0s\n");
}

TEST(RateLimitFields, ARefusalSaysOnlyOfWhatRefusesWhenThereIsMore) {
  EXPECT_EQ(Lines(Refused(), 900),
            "RateLimit-Policy: \"rpd\";q=1000;w=86400, \"rpm\";q=500;w=60, \"tpm\";q=30000;w=60;qu=\"tokens\"\n"
            "RateLimit: \"rpd\";r=989, \"rpm\";r=499, \"tpm\";r=500;t=12\n");
}

TEST(RateLimitFields, NameTheTiers) {
  Decision decision = Refused();
  decision.usage = {};
  decision.tier = Tier::kUserModel;
  const Limit bucket{.unit = Unit::kTokens, .kind = Limit::Kind::kBucket, .amount = 100, .per = 1h, .burst = 200};
  decision.tiers = {Hour(100), {Tier::kModel, "model", bucket, 25, 175}};
  EXPECT_EQ(Lines(decision, 50).substr(0, Lines(decision, 50).find(", \"rpd\"")),
            "RateLimit-Policy: \"user_model-requests-3600\";q=100;w=3600, "
            "\"model-tokens-bucket-3600\";q=100;w=3600;qu=\"tokens\";weir-burst=200");
  EXPECT_TRUE(Has(Lines(decision, 50),
                  "RateLimit: \"user_model-requests-3600\";r=0;t=12, "
                  "\"model-tokens-bucket-3600\";r=175, "))
      << Lines(decision, 50);
  decision.allowed = true;
  decision.tiers[0] = Hour(0);
  EXPECT_TRUE(Has(Lines(decision, 50),
                  "\"user_model-requests-3600\";r=100;t=0, "
                  "\"model-tokens-bucket-3600\";r=175;t=900, "))
      << Lines(decision, 50);
}

TEST(RateLimitFields, AnIntegerOfAFieldHas15DigitsAtMost) {
  const Decision decision{.allowed = true, .quota = ModelQuota{.max_tpm = kMostAmount}};
  EXPECT_EQ(
      Lines(decision, 0),
      "RateLimit-Policy: \"tpm\";q=999999999999999;w=60;qu=\"tokens\"\nRateLimit: \"tpm\";r=999999999999999;t=0\n");
}

TEST(RateLimitFields, FollowOpenAi) {
  EXPECT_EQ(Lines(Allowed(), 900, RateLimitDialect::kOpenAi),
            "x-ratelimit-limit-requests: 500\nx-ratelimit-remaining-requests: 499\nx-ratelimit-reset-requests: 1m0s\n"
            "x-ratelimit-limit-tokens: 30000\nx-ratelimit-remaining-tokens: 29100\nx-ratelimit-reset-tokens: 1m0s\n");
}

TEST(RateLimitFields, ForOpenAiShowTheLimitWithTheLeastLeft) {
  Decision decision = Allowed();
  decision.usage.rpd = 990;
  EXPECT_TRUE(Lines(decision, 900, RateLimitDialect::kOpenAi)
                  .starts_with("x-ratelimit-limit-requests: 1000\nx-ratelimit-remaining-requests: 10\n"
                               "x-ratelimit-reset-requests: 23h0m0s\n"));
  decision.tiers = {Hour(99)};
  EXPECT_TRUE(Lines(decision, 900, RateLimitDialect::kOpenAi)
                  .starts_with("x-ratelimit-limit-requests: 100\nx-ratelimit-remaining-requests: 1\n"
                               "x-ratelimit-reset-requests: 1h0m0s\n"));
}

TEST(RateLimitFields, FollowAnthropic) {
  EXPECT_EQ(Lines(Allowed(), 900, RateLimitDialect::kAnthropic),
            "anthropic-ratelimit-requests-limit: 500\nanthropic-ratelimit-requests-remaining: 499\n"
            "anthropic-ratelimit-requests-reset: 2026-02-20T14:33:00Z\n"
            "anthropic-ratelimit-tokens-limit: 30000\nanthropic-ratelimit-tokens-remaining: 29100\n"
            "anthropic-ratelimit-tokens-reset: 2026-02-20T14:33:00Z\n");
}

TEST(RateLimitFields, ARefusalHasTheDraftsInEveryDialect) {
  for (const RateLimitDialect dialect : {RateLimitDialect::kOpenAi, RateLimitDialect::kAnthropic}) {
    EXPECT_TRUE(Has(Lines(Refused(), 900, dialect), Lines(Refused(), 900)));
    EXPECT_FALSE(Has(Lines(Allowed(), 900, dialect), "RateLimit"));
  }
  EXPECT_TRUE(Has(Lines(Refused(), 900, RateLimitDialect::kOpenAi), "x-ratelimit-reset-tokens: 11.001s\n"));
  EXPECT_TRUE(Has(Lines(Refused(), 900, RateLimitDialect::kAnthropic), "tokens-reset: 2026-02-20T14:32:12Z\n"));
}

TEST(RateLimitFields, WaitsAsOpenAiWritesThem) {
  const std::pair<Duration, const char*> cases[] = {{-1s, "0s"},
                                                    {0s, "0s"},
                                                    {1ns, "1ms"},
                                                    {120ms, "120ms"},
                                                    {999ms, "999ms"},
                                                    {999ms + 1ns, "1s"},
                                                    {8640ms, "8.64s"},
                                                    {59999ms, "59.999s"},
                                                    {60s, "1m0s"},
                                                    {86400ms, "1m26.4s"},
                                                    {6min, "6m0s"},
                                                    {1h, "1h0m0s"},
                                                    {1h + 2min + 3s, "1h2m3s"},
                                                    {24h, "24h0m0s"}};
  for (const auto& [wait, text] : cases) EXPECT_EQ(FormatWait(wait), text);
}

TEST(RateLimitFields, RetryAfterIsInWholeSecondsAndNeverTooEarly) {
  EXPECT_EQ(RetryAfterSeconds(1ns), "1");
  EXPECT_EQ(RetryAfterSeconds(1s), "1");
  EXPECT_EQ(RetryAfterSeconds(1s + 1ns), "2");
  EXPECT_EQ(RetryAfterSeconds(24h), "86400");
}

TEST(RateLimitFields, AMonthOfTheCalendarHasNoLengthAndEndsAtItsEnd) {
  Decision decision = Allowed();
  decision.quota.reset();
  Limit month{.unit = Unit::kTokens, .kind = Limit::Kind::kCalendarMonth, .amount = 100};
  month.per = (kNow + 90s).time_since_epoch();
  decision.tiers = {{Tier::kTotal, "total:tenant:acme:user:a", month, 25, 75}};
  EXPECT_EQ(Lines(decision, 5),
            "RateLimit-Policy: \"user_total-tokens-month\";q=100;qu=\"tokens\"\n"
            "RateLimit: \"user_total-tokens-month\";r=75;t=90\n");
  EXPECT_EQ(Lines(decision, 5, RateLimitDialect::kOpenAi),
            "x-ratelimit-limit-tokens: 100\nx-ratelimit-remaining-tokens: 75\nx-ratelimit-reset-tokens: 1m30s\n");
}

// They are an sf-list of RFC 8941, of strings with integers as parameters; no t is later than Retry-After.
RC_GTEST_PROP(RateLimitFields, AreStructuredFields, (int64_t tokens, bool allowed, bool reserves)) {
  const auto amount = [] { return *rc::gen::inRange<int64_t>(0, kMostAmount + 1); };
  Decision decision{.allowed = allowed, .quota = ModelQuota{amount(), amount(), amount()}};
  decision.usage = {.rpm = amount(), .tpm = amount(), .rpd = amount()};
  decision.usage.day_start = kNow + Duration(*rc::gen::inRange<int64_t>(-2 * kDay.count(), 2 * kDay.count()));
  if (!allowed) decision.retry_after = Duration(*rc::gen::inRange<int64_t>(1, kDay.count()));
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    const Unit unit = *rc::gen::element(Unit::kRequests, Unit::kTokens, Unit::kCalls);
    const bool bucket = unit != Unit::kCalls && *rc::gen::arbitrary<bool>();
    const Limit limit{.unit = unit,
                      .kind = bucket ? Limit::Kind::kBucket : Limit::Kind::kWindow,
                      .amount = amount() + 1,
                      .per = std::chrono::milliseconds(*rc::gen::inRange<int64_t>(1000, 366LL * 86400 * 1000)),
                      .burst = kMostAmount};
    decision.tiers.push_back({static_cast<Tier>(i), "x", limit, amount(), amount()});
  }
  static const std::regex list(R"re(("[a-z0-9_.-]+"(;[a-z][a-z0-9_.*-]*=([0-9]{1,15}|"[a-z-]+"))+(, )?)+)re");
  static const std::regex reset(";t=([0-9]+)");
  for (const auto& [name, value] : RateLimitFields(decision, tokens, reserves, RateLimitDialect::kIetf, kNow)) {
    RC_LOG() << name << ": " << value << "\n";
    RC_ASSERT(std::regex_match(value, list));
    if (allowed) continue;
    for (auto it = std::sregex_iterator(value.begin(), value.end(), reset); it != std::sregex_iterator(); ++it)
      RC_ASSERT(std::stoll((*it)[1]) <= std::stoll(RetryAfterSeconds(*decision.retry_after)));
  }
}

}  // namespace
}  // namespace weir
