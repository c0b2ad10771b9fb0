#include "relay/standing/standing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

constexpr uint64_t kDay = 86'400;
constexpr uint32_t kBegin = 1'700'000'000;

// An author first seen at kBegin. Times are days since then.
AuthorRecord Known(AuthorRecord record) {
  record.first_seen = kBegin;
  return record;
}
int Points(const AuthorRecord& record, uint64_t days) { return PointsOf(record, kBegin + days * kDay); }
Rung RungAt(const AuthorRecord& record, uint64_t days) { return RungOf(record, kBegin + days * kDay); }

TEST(Standing, EverySourceHasItsPointsAndItsCap) {
  const struct {
    AuthorRecord record;
    uint64_t days;
    int points;
  } cases[] = {
      {{}, 1, 0},
      {{.active_days = 1}, 1, 1},
      {{.active_days = 10}, 1, 10},
      {{.active_days = 60'000}, 1, 10},
      {{.active_days = 10}, 6, 10},
      {{.active_days = 10}, 7, 11},
      {{.active_days = 10}, 28, 14},
      {{.active_days = 10}, 9'000, 14},
      {{.accepted = 9, .active_days = 10}, 1, 10},
      {{.accepted = 10, .active_days = 10}, 1, 11},
      {{.accepted = 100, .active_days = 10}, 1, 12},
      {{.accepted = UINT32_MAX, .active_days = 10}, 1, 12},
      {{.accepted = 100, .deleted = 1, .active_days = 10}, 1, 11},
      {{.accepted = 100, .deleted = 91, .active_days = 10}, 1, 10},
      {{.accepted = 100, .deleted = UINT32_MAX, .active_days = 10}, 1, 10},
      {{.active_days = 10, .work_bits = 20}, 1, 11},
      {{.active_days = 10, .work_bits = 28}, 1, 12},
      {{.active_days = 10, .proved = true}, 1, 11},
      {{.accepted = 100, .active_days = 10, .work_bits = 28, .proved = true}, 28, 19},
      {{.accepted = 100, .active_days = 2, .work_bits = 28, .proved = true}, 28, 4},
      {{.accepted = 100, .work_bits = 28, .proved = true}, 28, 0},
      {{.follow_steps = 2, .followers = 1}, 0, 20},
      {{.follow_steps = 2, .followers = 255}, 0, 20},
      {{.follow_steps = 3, .followers = 1}, 0, 4},
      {{.follow_steps = 3, .followers = 3}, 0, 12},
      {{.follow_steps = 3, .followers = 255}, 0, 12},
      {{.reported = 1}, 0, -4},
      {{.reported = 100}, 0, -400},
  };
  for (const auto& c : cases)
    EXPECT_EQ(Points(Known(c.record), c.days), c.points) << &c - cases << ", after " << c.days << " days";
}

TEST(Standing, TheRungsBeginAtTheirPoints) {
  EXPECT_EQ(RungAt({}, 0), Rung::kStranger);
  for (const auto& [days, rung] : {std::pair{3, Rung::kStranger}, {4, Rung::kNewcomer}, {10, Rung::kNewcomer}})
    EXPECT_EQ(RungAt(Known({.active_days = static_cast<uint16_t>(days)}), 1), rung) << days;
  EXPECT_EQ(RungAt(Known({.active_days = 10}), 13), Rung::kNewcomer);
  EXPECT_EQ(RungAt(Known({.active_days = 10}), 14), Rung::kRegular);
  EXPECT_EQ(RungAt({.follow_steps = 3, .followers = 1}, 0), Rung::kNewcomer);
  EXPECT_EQ(RungAt({.follow_steps = 3, .followers = 3}, 0), Rung::kRegular);
  EXPECT_EQ(RungAt({.follow_steps = 2, .followers = 1}, 0), Rung::kTrusted);
  EXPECT_EQ(RungAt({.follow_steps = 1}, 0), Rung::kTrusted);
}

TEST(Standing, ReportsTakeThreeAndMoreAgainstThoseWhoStandHigh) {
  EXPECT_EQ(RungAt({.reported = 2}, 0), Rung::kStranger);
  EXPECT_EQ(RungAt({.reported = 3}, 0), Rung::kReported);
  const auto regular = [](uint16_t reported) { return Known({.active_days = 10, .reported = reported}); };
  EXPECT_EQ(RungAt(regular(3), 28), Rung::kStranger);
  EXPECT_EQ(RungAt(regular(4), 28), Rung::kReported);
  EXPECT_EQ(RungAt({.reported = 2, .follow_steps = 2, .followers = 1}, 0), Rung::kRegular);
  EXPECT_EQ(RungAt({.reported = 6, .follow_steps = 2, .followers = 1}, 0), Rung::kReported);
  EXPECT_EQ(RungAt({.reported = 100, .follow_steps = 1}, 0), Rung::kTrusted) << "the operator decides about the list";
}

TEST(Standing, ADayCountsOnceAndOnlyForward) {
  AuthorRecord record;
  for (const uint64_t day : {19'000, 19'000, 19'001, 18'000, 19'001, 19'005}) CountDay(day * kDay + 5, &record);
  EXPECT_EQ(record.active_days, 3);
  EXPECT_EQ(record.last_day, 19'005);
  EXPECT_FALSE(IsNewDay(record, 19'005 * kDay + kDay - 1));
  EXPECT_TRUE(IsNewDay(record, 19'006 * kDay));
}

RC_GTEST_PROP(StandingProperty, NothingRaisesAStrangerInItsFirstDay,
              (uint32_t accepted, uint16_t days, bool proved, bool works)) {
  const AuthorRecord record{.first_seen = kBegin,
                            .accepted = accepted,
                            .active_days = days,
                            .work_bits = static_cast<uint8_t>(works ? 28 : 0),
                            .proved = proved};
  RC_ASSERT(RungOf(record, kBegin + kDay - 1) == Rung::kStranger);
  RC_ASSERT(RungOf(record, kBegin - kDay) == Rung::kStranger);
}

RC_GTEST_PROP(StandingProperty, WithoutFollowsNoAuthorIsTrusted,
              (uint32_t accepted, uint32_t deleted, uint16_t days, bool proved, uint32_t now)) {
  const AuthorRecord record{.first_seen = kBegin,
                            .accepted = accepted,
                            .deleted = deleted,
                            .active_days = days,
                            .work_bits = 28,
                            .proved = proved};
  RC_ASSERT(RungOf(record, now) < Rung::kTrusted);
}

RC_GTEST_PROP(StandingProperty, TheExplanationAddsUpToThePoints,
              (uint32_t accepted, uint16_t days, uint16_t reports, uint8_t followers, bool proved)) {
  const AuthorRecord record{.first_seen = kBegin,
                            .accepted = accepted,
                            .active_days = days,
                            .reported = static_cast<uint16_t>(reports % 100),
                            .follow_steps = static_cast<uint8_t>(2 + days % 2),
                            .followers = followers,
                            .work_bits = 20,
                            .proved = proved};
  const uint64_t now = kBegin + days % 40 * kDay;
  int sum = 0;
  const std::vector<std::string> sentences = ExplainRung(record, now);
  for (size_t i = 1; i < sentences.size(); ++i) sum += std::stoi(sentences[i]);
  RC_ASSERT(sum == PointsOf(record, now));
  RC_ASSERT(sentences[0].find(NameOf(RungOf(record, now))) != std::string::npos);
}

TEST(Standing, IsExplainedInSentences) {
  const AuthorRecord regular =
      Known({.accepted = 340, .deleted = 2, .active_days = 12, .reported = 1, .work_bits = 20, .proved = true});
  EXPECT_EQ(ExplainRung(regular, kBegin + 21 * kDay),
            (std::vector<std::string>{
                "the author is a regular, with 13 points; it takes 20 points to be trusted",
                "-4: regular or trusted authors reported the author: 1", "+10: the author wrote on 12 days that count",
                "+3: the relay has known the author since 2023-11-14",
                "+2: the relay has taken 338 events that were not deleted", "+1: an event had 20 bits of proof of work",
                "+1: the author has proved the key by AUTH"}));
  EXPECT_EQ(ExplainRung({.follow_steps = 1}, kBegin),
            (std::vector<std::string>{"the author is trusted, because the key is on the operator's own list"}));
  const std::vector<std::string> fresh = ExplainRung(Known({.accepted = 500, .active_days = 1}), kBegin + 60);
  ASSERT_EQ(fresh.size(), 2U);
  EXPECT_EQ(fresh[0], "the author is a stranger, with 0 points; it takes 4 points to be a newcomer");
  EXPECT_TRUE(Has(fresh[1], "begin a day after the first event"));
  EXPECT_TRUE(Has(ExplainRung({.follow_steps = 2, .followers = 2}, kBegin)[1], "+20: keys of the operator's own list"));
}

}  // namespace
}  // namespace weir
