#include "config/text/time_span.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

TEST(SpanTest, AreANumberAndAUnit) {
  const struct {
    const char* text;
    uint64_t seconds;
  } cases[] = {{"0s", 0}, {"90s", 90}, {"15m", 900}, {"12h", 43'200}, {"30d", 2'592'000}, {"3650d", 315'360'000}};
  for (const auto& c : cases) EXPECT_EQ(ParseSpan(c.text).value(), c.seconds) << c.text;
}

TEST(SpanTest, OtherTextsAreNone) {
  for (const char* text : {"", "d", "30", "-1d", "1.5d", "1w", "1 year", "3651d", "99999999999999999999s", "1dd"}) {
    const Result<uint64_t> span = ParseSpan(text);
    ASSERT_FALSE(span.ok()) << text;
    EXPECT_EQ(span.status().message(), "not a time such as 30d, 12h, 15m or 90s, of at most ten years");
  }
}

}  // namespace
}  // namespace weir
