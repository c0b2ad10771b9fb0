#include "config/text/moment.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

TEST(Moment, IsSecondsOrADayOrATime) {
  const struct {
    std::string_view text;
    uint64_t first;
    uint64_t last;
  } kCases[] = {
      {"0", 0, 0},
      {"1769817600", 1769817600, 1769817600},
      {"18446744073709551615", UINT64_MAX, UINT64_MAX},
      {"1970-01-01", 0, 86'399},
      {"2026-01-31", 1769817600, 1769817600 + 86'399},
      {"2024-02-29", 1709164800, 1709164800 + 86'399},
      {"2026-01-31T00:00:00Z", 1769817600, 1769817600},
      {"9999-12-31", 253402300799 - 86'399, 253402300799},
      {"2026-01-31T12:34:56Z", 1769817600 + 45'296, 1769817600 + 45'296},
  };
  for (const auto& [text, first, last] : kCases) {
    for (const auto& [second, expected] : {std::pair{OfTheDay::kFirst, first}, std::pair{OfTheDay::kLast, last}}) {
      const Result<uint64_t> moment = ParseMoment(text, second);
      ASSERT_TRUE(moment.ok()) << moment.status().message();
      EXPECT_EQ(moment.value(), expected) << text;
    }
  }
}

TEST(Moment, RefusesOtherTexts) {
  for (const std::string_view text : {"",
                                      "yesterday",
                                      "-1",
                                      "+1",
                                      "1.5",
                                      "18446744073709551616",
                                      "2026-02-30",
                                      "2026-13-01",
                                      "2026-1-31",
                                      "26-01-31",
                                      "1969-12-31",
                                      "2026-01-31T",
                                      "2026-01-31T12:00Z",
                                      "2026-01-31T12:00:00",
                                      "2026-01-31T24:00:00Z",
                                      "2026-01-31T12:60:00Z",
                                      "2026-01-31 12:00:00Z",
                                      "2026-01-31T12:00:00+01:00",
                                      "2026--1-31",
                                      "2026-01-31T12:00:60Z",
                                      "2026-01-31t12:00:00Z",
                                      "2026-01-31T12:00:0.Z",
                                      " 1"}) {
    const Result<uint64_t> moment = ParseMoment(text, OfTheDay::kFirst);
    EXPECT_FALSE(moment.ok()) << text;
    EXPECT_NE(moment.status().message().find("\"" + std::string(text) + "\" is no moment"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir
