// The effect of a reload of the configuration on usage: either it counts on, or the log says that it does not.
#include "throttle/limits/quota/begun_anew.h"

#include <gtest/gtest.h>

#include "config/manual_clock.h"
#include "config/text/rfc3339.h"
#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/quota_config_reader.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {
namespace {

using Strings = std::vector<std::string>;

const WallTime kNow = *ParseTime("2026-02-28T12:00:00Z");

QuotaConfig Read(const std::string& section) {
  QuotaConfig config;
  const Status status = ReadYaml("quota: {" + section + "}", "w.yaml",
                                 [&](YamlMap& root) { ReadQuotaSection(root.Required("quota"), &config); });
  EXPECT_EQ(status.message(), "") << section;
  return config;
}

Strings Warnings(const std::string& before, const std::string& now) {
  return CountsBegunAnew(Read("tiers: {" + before + "}"), Read("tiers: {" + now + "}"), kNow);
}

TEST(CountsBegunAnew, ALimitOfAnotherKindOrTimeBeginsAnewWhereverItStands) {
  struct Place {
    std::string begin;
    std::string end;
    std::string words;
  };
  const Place places[] = {
      {"default: {user_model: [", "]}", "tier user_model, user:*"},
      {"default: {model: [", "]}", "tier model, model"},
      {"default: {instance: [", "]}", "tier instance, instance:*"},
      {"classes: [{name: x, models: [m], user_model: [", "]}]", "tier user_model, user:*, model m"},
      {"qos: [{name: free, priority: 1, limits: [", "]}]", "tier qos, qos:free:user:*"},
      {"users: {\"*\": [", "]}", "tier total, total:user:*"},
      {"users: {alice: [", "]}", "tier total, total:user:alice"},
      {"tenants: {acme: {m: [", "]}}", "tier user_model, tenant:acme:user:*, model m"},
      {"tenants: {\"*\": {\"*\": [", "]}}", "tier user_model, tenant:*:user:*"},
      {"tenants: {acme: {users: {\"*\": [", "]}}}", "tier total, total:tenant:acme:user:*"},
      {"api_keys: {sk-1234567: {m: [", "]}}", "tier user_model, user:*, API key sk-1…, model m"},
  };
  struct Change {
    std::string before;
    std::string now;
    std::string words_before;
    std::string words_now;
  };
  const Change changes[] = {
      {"{requests: 5, per: 1h}", "{requests: 5, per: 2h}", "5 requests in 1 h", "5 requests in 2 h"},
      {"{tokens: 5, per: 1h}", "{tokens: 5, per: 1h, burst: 9}", "5 tokens in 1 h", "5 tokens/h, at most 9 at once"},
      {"{money: 5, per: day}", "{money: 5, per: month}", "5.00 of money in a calendar day",
       "5.00 of money in a calendar month"},
      {"{requests: 5, per: 1d}", "{requests: 5, per: day}", "5 requests in 1 day", "5 requests in a calendar day"},
  };
  for (const Place& place : places) {
    for (const Change& c : changes) {
      const std::string before = place.begin + c.before + place.end;
      EXPECT_EQ(Warnings(before, place.begin + c.now + place.end),
                Strings{"the count of " + c.words_now + " (" + place.words + ") begins at 0; so far it was " +
                        c.words_before + " (" + place.words + ")"})
          << before;
      EXPECT_EQ(Warnings(before, before), Strings());
    }
    const auto with = [&](const std::string& limits) { return place.begin + limits + place.end; };
    EXPECT_EQ(Warnings(with("{requests: 5, per: 1h}"), with("{requests: 6, per: 1h}")), Strings()) << "counts on";
    EXPECT_EQ(Warnings(with("{requests: 5, per: 1h}"), with("{requests: 5, per: 1h}, {requests: 9, per: 1d}")),
              Strings())
        << "it joins another";
    EXPECT_EQ(Warnings(with("{requests: 5, per: 1h}"), with("{tokens: 5, per: 2h}")), Strings())
        << "nothing was counted";
    EXPECT_EQ(Warnings("", with("{requests: 5, per: 1h}")), Strings());
    EXPECT_EQ(Warnings(with("{requests: 5, per: 1h}"), ""), Strings());
  }
}

TEST(CountsBegunAnew, ItIsSaidOnceHoweverManyItConcerns) {
  const std::string rest = ", tenants: {a: {users: {bob: [{requests: 1, per: 1d}]}}, b: {m: {deny: true}}}";
  EXPECT_EQ(Warnings("default: {user_model: [{requests: 5, per: 1h}]}" + rest,
                     "default: {user_model: [{requests: 5, per: 2h}]}" + rest)
                .size(),
            1U);
}

TEST(CountsBegunAnew, TotalsOfTenantsAndKeysAreCountsOfTheirOwn) {
  EXPECT_EQ(Warnings("tenants: {acme: {\"*\": [{requests: 5, per: 1h, total: true}]}}",
                     "tenants: {acme: {\"*\": [{requests: 5, per: 2h, total: true}]}}"),
            Strings{"the count of 5 requests in 2 h (tier total, total:tenant:acme) begins at 0; so far it was 5 "
                    "requests in 1 h (tier total, total:tenant:acme)"});
  EXPECT_EQ(Warnings("api_keys: {sk-1234567: {m: [{requests: 5, per: 1h, total: true}]}}",
                     "api_keys: {sk-1234567: {m: [{requests: 5, per: 2h, total: true}]}}"),
            Strings{"the count of 5 requests in 2 h (tier total, this API key, API key sk-1…, model m) begins at 0; so "
                    "far it was 5 requests in 1 h (tier total, this API key, API key sk-1…, model m)"});
  EXPECT_EQ(Warnings("tenants: {acme: {\"*\": [{requests: 5, per: 1h, total: true}]}}",
                     "users: {\"*\": [{requests: 5, per: 2h}]}"),
            Strings())
      << "another's";
}

TEST(CountsBegunAnew, AUserOfAKeyBeginsAnewInItsNewTenant) {
  const std::string users = "users: {\"*\": [{requests: 5, per: 1h}]}, api_keys: {sk-1234567: {";
  EXPECT_EQ(Warnings(users + "}}", users + "tenant: acme}}"),
            Strings{"the count of 5 requests in 1 h (tier total, total:tenant:acme:user:*, API key sk-1…) begins at 0; "
                    "so far it was 5 requests in 1 h (tier total, total:user:*, API key sk-1…)"});
  EXPECT_EQ(Warnings(users + "tenant: acme}}", users + "}}").size(), 1U);
}

TEST(CountsBegunAnew, ANameThatItsModelClaimsNoMoreIsSaid) {
  EXPECT_EQ(CountsBegunAnew(Read("models: {a: {also: [b, \"c*\"]}}"), Read("models: {a: {also: [b]}}"), kNow),
            Strings{"requests for c* were counted as a, and are as c* from now on: what they had used stays with a"});
  EXPECT_EQ(CountsBegunAnew(Read("models: {a: {also: [b]}}"), Read("models: {a: {}, b: {max_rpm: 1}}"), kNow).size(),
            1U);
  EXPECT_EQ(CountsBegunAnew(Read("models: {a: {}}"), Read("models: {a: {also: [b]}}"), kNow), Strings());
}

class AReload : public testing::Test {
 protected:
  Decision Take(int64_t tokens) { return limiter_->Take({.model = "m", .tokens = tokens, .requester = {.user = "a"}}); }
  void Use(const std::string& section) {
    limiter_.emplace(store_, Read(section), Clock::System(), nullptr, Sleeper::System(), clock_);
  }

  ManualWallClock clock_{kNow};
  MemoryQuotaStore store_{{}, clock_};
  std::optional<QuotaLimiter> limiter_;
};

TEST_F(AReload, WithAnotherTimeZoneGoesOnWithTheDayAndTheMonth) {
  for (const std::string period : {"day", "month"}) {
    const std::string tiers = "tiers: {users: {\"*\": [{tokens: 100, per: " + period + "}]}}";
    ASSERT_TRUE(store_.Reset("").ok());
    Use(tiers);
    EXPECT_TRUE(Take(80).allowed);
    for (const char* zone : {"Europe/Berlin", "America/New_York", "Asia/Tokyo"}) {
      EXPECT_EQ(limiter_->Reconfigure(Read(tiers + ", time_zone: " + zone)).value(), Strings()) << zone;
      const Decision refused = Take(21);
      EXPECT_FALSE(refused.allowed) << zone;
      EXPECT_EQ(refused.tiers.at(0).used, 80) << zone;
    }
    const Decision refused = Take(21);
    EXPECT_EQ(refused.retry_after, std::chrono::hours(3)) << "by the end of the zone that holds now";
  }
}

TEST_F(AReload, WarnsOfTheCountsThatBeginAnew) {
  Use("tiers: {users: {\"*\": [{tokens: 100, per: 1h}]}}");
  EXPECT_TRUE(Take(80).allowed);
  const auto warnings = limiter_->Reconfigure(Read("tiers: {users: {\"*\": [{tokens: 100, per: 2h}]}}"));
  ASSERT_TRUE(warnings.ok());
  EXPECT_EQ(warnings.value(),
            Strings{"the count of 100 tokens in 2 h (tier total, total:user:*) begins at 0; so far it "
                    "was 100 tokens in 1 h (tier total, total:user:*)"});
  EXPECT_TRUE(Take(80).allowed);
}

}  // namespace
}  // namespace weir
