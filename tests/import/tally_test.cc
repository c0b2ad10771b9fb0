#include "import/tally.h"

#include <gtest/gtest.h>

#include <set>

namespace weir {
namespace {

TEST(Tally, EveryOutcomeHasANameAndAKeyOfItsOwn) {
  std::set<std::string_view> names;
  std::set<std::string_view> keys;
  for (size_t i = 0; i < kLineOutcomes; ++i) {
    const auto outcome = static_cast<LineOutcome>(i);
    EXPECT_TRUE(names.insert(NameOf(outcome)).second);
    EXPECT_TRUE(keys.insert(KeyOf(outcome)).second);
    EXPECT_FALSE(NameOf(outcome).empty());
    EXPECT_EQ(KeyOf(outcome).find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos);
  }
}

TEST(Tally, SumsWhatWasReadRejectedAndAnEvent) {
  Tally tally;
  for (size_t i = 0; i < kLineOutcomes; ++i) tally.lines[i] = 1u << i;
  Tally twice = tally;
  twice += tally;
  EXPECT_EQ(twice.read(), 2 * ((1u << kLineOutcomes) - 1));
  EXPECT_EQ(tally.events() + tally.rejected() + tally[LineOutcome::kBlank], tally.read());
  EXPECT_EQ(tally.rejected(), (1u << kLineOutcomes) - (1u << static_cast<size_t>(LineOutcome::kInvalid)));
}

}  // namespace
}  // namespace weir
