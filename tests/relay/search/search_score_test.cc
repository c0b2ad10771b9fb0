#include "relay/search/search_score.h"

#include <gtest/gtest.h>

#include "relay/search/searched_kinds.h"

namespace weir {
namespace {

TEST(SearchScore, WeighsRareWordsMore) {
  EXPECT_EQ(WeightOf(1), 9U);
  EXPECT_EQ(WeightOf(2), 8U);
  EXPECT_EQ(WeightOf(100), 2U);
  EXPECT_EQ(WeightOf(256), 1U);
  for (uint32_t count = 1; count < kMostCountedEvents; ++count)
    EXPECT_GE(WeightOf(count), WeightOf(count + 1)) << count;
}

TEST(SearchScore, PrefersFrequentWordsOfShortTexts) {
  for (uint32_t times = 1; times < 15; ++times)
    EXPECT_LT(FactorOf(DensityOf(times, 64)), FactorOf(DensityOf(times + 1, 64))) << times;
  for (uint32_t length = 1; length < 20000; length *= 2)
    EXPECT_GE(FactorOf(DensityOf(1, length)), FactorOf(DensityOf(1, 2 * length))) << length;
  EXPECT_EQ(DensityOf(1000, 4), DensityOf(15, 4));
  EXPECT_EQ(FactorOf(DensityOf(15, 1 << 30)), FactorOf(DensityOf(15, 1 << 15)));
}

TEST(SearchedKinds, ReadsAList) {
  EXPECT_EQ(ParseSearchedKinds("").value(), std::vector<uint16_t>{});
  EXPECT_EQ(ParseSearchedKinds("30023, 1,1").value(), (std::vector<uint16_t>{1, 30023}));
  EXPECT_EQ(ToText(std::vector<uint16_t>{1, 30023}), "1,30023");
  EXPECT_EQ(ParseSearchedKinds("1,x").status().message(), "\"x\" is no kind: name kinds with commas, such as 1,30023");
  EXPECT_FALSE(ParseSearchedKinds("70000").ok());
  for (const char* const private_kind : {"4", "1059", "20001"})
    EXPECT_EQ(
        ParseSearchedKinds(private_kind).status().message(),
        std::string("kind ") + private_kind + " cannot be searched: its content is encrypted, or it is not stored");
}

}  // namespace
}  // namespace weir
