#include "throttle/limits/quota/quota.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <set>

#include "throttle/limits/quota/limit.h"
#include "throttle/limits/quota/reservation_id.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::string NameProblem(std::string_view name) { return CheckName("model", name).message(); }

TEST(CheckName, TakesEveryNameOfUtf8WithoutControlCharacters) {
  for (const std::string& name : {
           std::string("gpt-4o"),
           std::string("a b"),
           std::string("%:{}@/\\\"'*?[]"),
           std::string("\xc2\xa0"),
           std::string("ünïcödé"),
           std::string("\xe2\x82\xac"),
           std::string("\xf0\x9f\x98\x80"),
           std::string("\xf4\x8f\xbf\xbf"),
           std::string("\xed\x9f\xbf"),
           std::string("\xee\x80\x80"),
           std::string(256, 'x'),
       })
    EXPECT_EQ(NameProblem(name), "") << name;
}

TEST(CheckName, ReportsTheProblemOfAName) {
  struct Case {
    std::string name;
    std::string problem;
  };
  for (const Case& c : {
           Case{"", "model: is empty"},
           Case{std::string(257, 'x'), "model: has 257 bytes, at most 256 are allowed"},
           Case{std::string(10'240, 'x'), "model: has 10240 bytes, at most 256 are allowed"},
           Case{std::string("a\0b", 3), "model: has a control character at byte 1"},
           Case{"a\nb", "model: has a control character at byte 1"},
           Case{"ab\x1f", "model: has a control character at byte 2"},
           Case{"\x7f", "model: has a control character at byte 0"},
           Case{"\xc2\x80", "model: has a control character at byte 0"},
           Case{"\xc3\xa4\xc2\x9f", "model: has a control character at byte 2"},
           Case{"\x80", "model: not valid UTF-8 at byte 0"},
           Case{"a\xff", "model: not valid UTF-8 at byte 1"},
           Case{"\xc0\xaf", "model: not valid UTF-8 at byte 0"},          // overlong
           Case{"\xe0\x80\xaf", "model: not valid UTF-8 at byte 0"},      // overlong
           Case{"\xf0\x80\x80\xaf", "model: not valid UTF-8 at byte 0"},  // overlong
           Case{"\xed\xa0\x80", "model: not valid UTF-8 at byte 0"},      // a surrogate
           Case{"\xf4\x90\x80\x80", "model: not valid UTF-8 at byte 0"},  // beyond the last code point
           Case{"a\xe2\x82", "model: not valid UTF-8 at byte 1"},         // cut off
           Case{"\xe2\x28\xa1", "model: not valid UTF-8 at byte 0"},
       })
    EXPECT_EQ(NameProblem(c.name), c.problem);
}

TEST(EscapeName, EscapesTheSeparatorsOfNames) {
  EXPECT_EQ(EscapeName("gpt-4o"), "gpt-4o");
  EXPECT_EQ(EscapeName("a:b@{c}%"), "a%3Ab%40%7Bc%7D%25");
  EXPECT_EQ(UnescapeName("a%3Ab%40%7Bc%7D%25"), "a:b@{c}%");
  EXPECT_EQ(UnescapeName("%3a"), ":");
}

TEST(EscapeName, BadEscapesStayAsTheyAre) {
  for (const std::string text : {"%", "%4", "%zz", "%4z", "%-1", "100%"}) EXPECT_EQ(UnescapeName(text), text);
}

RC_GTEST_PROP(EscapeName, IsReadBackAsTheSameName, (const std::string& name)) {
  const std::string escaped = EscapeName(name);
  RC_ASSERT(UnescapeName(escaped) == name);
  RC_ASSERT(escaped.find_first_of(":{}@") == std::string::npos);
}

TEST(CheckQuota, RefusesNegativeLimits) {
  EXPECT_TRUE(CheckQuota("gpt-4o", {}).ok());
  EXPECT_TRUE(CheckQuota("gpt-4o", {.max_rpm = std::numeric_limits<int64_t>::max()}).ok());
  EXPECT_EQ(CheckQuota("gpt-4o", {.max_rpm = -5}).message(),
            "quota of gpt-4o: max_rpm is -5; it must be a limit, or 0 for none");
  EXPECT_EQ(CheckQuota("a\nb", {.max_tpm = -1}).message(),
            "quota of a\\x0ab: max_tpm is -1; it must be a limit, or 0 for none");
  EXPECT_FALSE(CheckQuota("gpt-4o", {.max_rpd = std::numeric_limits<int64_t>::min()}).ok());
}

TEST(Quota, IsDescribedForPeople) {
  EXPECT_EQ(Describe(ModelQuota{.max_rpm = 500, .max_tpm = 30'000}),
            "500 requests/min, 30000 tokens/min, no limit a day");
  EXPECT_EQ(Describe(ModelQuota{.max_rpd = 7}), "no limit of requests/min, no limit of tokens/min, 7 requests/day");
}

TEST(Limit, IsDescribedForPeople) {
  using enum Limit::Unit;
  using enum Limit::Kind;
  struct Case {
    Limit limit;
    std::string text;
    std::string meter;
  };
  for (const Case& c : {
           Case{{kRequests, kWindow, 100, hours(1), 0}, "100 requests in 1 h", "r3600000"},
           Case{{kRequests, kWindow, 1, seconds(90), 0}, "1 request in 90 s", "r90000"},
           Case{{kTokens, kWindow, 5, hours(24), 0}, "5 tokens in 1 day", "t86400000"},
           Case{{kTokens, kWindow, 5, milliseconds(1500), 0}, "5 tokens in 1500 ms", "t1500"},
           Case{{kTokens, kBucket, 100, hours(1), 200}, "100 tokens/h, at most 200 at once", "tb3600000"},
           Case{{kRequests, kBucket, 5, minutes(2), 5}, "5 requests/2 min, at most 5 at once", "rb120000"},
           Case{{kTokens, kCalendarDay, 5, hours(492'000), 0, false, 20'260'228},
                "5 tokens in a calendar day",
                "td20260228"},
           Case{{kRequests, kCalendarMonth, 1, hours(492'000), 0, false, 202'602},
                "1 request in a calendar month",
                "rm202602"},
       }) {
    EXPECT_EQ(Describe(c.limit), c.text);
    EXPECT_EQ(MeterName(c.limit), c.meter);
  }
}

TEST(QuotaCode, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (size_t code = 0; code < kQuotaCodes; ++code) names.insert(NameOf(static_cast<QuotaCode>(code)));
  EXPECT_EQ(names.size(), kQuotaCodes);
  EXPECT_EQ(NameOf(QuotaCode::kOk), "ok");
  EXPECT_EQ(NameOf(QuotaCode::kTooLarge), "too_large");
  EXPECT_EQ(NameOf(QuotaCode::kStoreUnavailable), "store_unavailable");
}

TEST(ReservationId, IsReadBack) {
  const ReservationToken token = {0x0123456789abcdef, 0xf};
  const std::string id = FormatReservationId(token, "a:b@c");
  EXPECT_EQ(id, "0123456789abcdef000000000000000f@a%3Ab%40c");
  const std::optional<ReservationId> parsed = ParseReservationId(id);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->token, token);
  EXPECT_EQ(parsed->round, 0U);
  EXPECT_EQ(parsed->model, "a:b@c");
}

TEST(ReservationId, HasItsRoundAfterTheToken) {
  for (const uint32_t round : {1U, 20U, 4'294'967'295U}) {
    const std::string id = FormatReservationId({0, 15}, "a@b", round);
    EXPECT_EQ(id, "0000000000000000000000000000000f." + std::to_string(round) + "@a%40b");
    const std::optional<ReservationId> parsed = ParseReservationId(id);
    ASSERT_TRUE(parsed) << id;
    EXPECT_EQ(parsed->round, round);
    EXPECT_EQ(parsed->model, "a@b");
  }
}

TEST(ReservationId, IsNeverTheSame) {
  std::set<ReservationToken> tokens;
  for (int i = 0; i < 1000; ++i) tokens.insert(RandomReservationToken());
  EXPECT_EQ(tokens.size(), 1000U);
}

TEST(ReservationId, RefusesOtherTexts) {
  const std::string token = FormatReservationId({}, "gpt-4o").substr(0, 32);
  for (const std::string& text : {
           std::string(),
           token,
           token + "@",
           std::string("@gpt-4o"),
           token + ":gpt-4o",
           token.substr(1) + "@gpt-4o",
           "0" + token + "@gpt-4o",
           token.substr(1) + "A@gpt-4o",
           token.substr(1) + "-@gpt-4o",
           token + "@a:b",
           token + "@a%3ab",
           "+" + token.substr(1) + "@gpt-4o",
           token + ".@gpt-4o",
           token + ".0@gpt-4o",
           token + ".01@gpt-4o",
           token + ".-1@gpt-4o",
           token + ".1 @gpt-4o",
           token + "11@gpt-4o",
           token + ".4294967296@gpt-4o",
       })
    EXPECT_FALSE(ParseReservationId(text)) << text;
}

}  // namespace
}  // namespace weir
