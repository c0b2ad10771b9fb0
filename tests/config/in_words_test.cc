#include "config/text/in_words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST(InWords, AreRoundedUp) {
  const std::pair<Duration, std::string_view> cases[] = {
      {-1h, "0 s"},
      {0ns, "0 s"},
      {1ns, "0.1 s"},
      {100ms, "0.1 s"},
      {101ms, "0.2 s"},
      {2s, "2 s"},
      {9900ms, "9.9 s"},
      {9901ms, "10 s"},
      {10'001ms, "11 s"},
      {59s, "59 s"},
      {59'000'000'001ns, "1 min"},
      {60s, "1 min"},
      {90s, "1 min 30 s"},
      {302s, "5 min 2 s"},
      {1h - 1s, "59 min 59 s"},
      {1h - 1ns, "1 h"},
      {3h + 11min + 1s, "3 h 12 min"},
      {24h, "24 h"},
      {48h - 1min, "47 h 59 min"},
      {48h, "2 days"},
      {49h - 1s, "2 days 1 h"},
      {Duration::max(), "106752 days"},
  };
  for (const auto& [time, words] : cases) EXPECT_EQ(InWords(time), words);
}

TEST(InWords, SecondsMayBeAnyNumber) {
  EXPECT_EQ(InWords(0.3), "0.3 s");
  EXPECT_EQ(InWords(185.0), "3 min 5 s");
  for (const double none : {-1.0, -1e308, std::nan(""), -std::numeric_limits<double>::infinity()})
    EXPECT_EQ(InWords(none), "0 s") << none;
  for (const double ever : {1e9, 1e308, std::numeric_limits<double>::infinity()})
    EXPECT_EQ(InWords(ever), "11574 days 2 h") << ever;
}

}  // namespace
}  // namespace weir
