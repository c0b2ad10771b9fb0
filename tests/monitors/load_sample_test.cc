#include "monitors/load_sample.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(LoadSample, FindsSignalsByName) {
  LoadSample sample;
  sample.Add({.name = "l0", .level = 0.5});
  ASSERT_NE(sample.Find("l0"), nullptr);
  EXPECT_EQ(sample.Find("l0")->level, 0.5);
  EXPECT_EQ(sample.Find("debt"), nullptr);
  EXPECT_EQ(sample.LevelOf("l0"), 0.5);
  EXPECT_EQ(sample.LevelOf("debt"), 0);
}

TEST(LoadSample, SaysThatItHasNoRoomForAll) {
  LoadSample sample;
  for (size_t i = 0; i < kMaxSignals; ++i) sample.Add({.name = "x"});
  EXPECT_FALSE(sample.has_too_many);
  sample.Add({.name = "x"});
  EXPECT_TRUE(sample.has_too_many);
  EXPECT_EQ(sample.signals().size(), kMaxSignals);
}

TEST(LoadSample, AddHighestKeepsTheHigherOfTwo) {
  LoadSample sample;
  sample.AddHighest({.name = "l0", .level = 0.5, .bytes_per_level = 1});
  sample.AddHighest({.name = "l0", .level = 0.9, .bytes_per_level = 2});
  sample.AddHighest({.name = "l0", .level = 0.1, .bytes_per_level = 3});
  sample.AddHighest({.name = "debt", .level = 0.2});
  ASSERT_EQ(sample.signals().size(), 2u);
  EXPECT_EQ(sample.Find("l0")->level, 0.9);
  EXPECT_EQ(sample.Find("l0")->bytes_per_level, 2);
}

// A column family for which the engine never brakes must not hide another one that is at rest.
TEST(LoadSample, AddHighestKeepsTheOneThatLimitsOfTwoEqual) {
  const Signal limits{.name = "debt", .bytes_per_level = 1};
  const Signal shown{.name = "debt"};
  LoadSample shown_first;
  shown_first.AddHighest(shown);
  shown_first.AddHighest(limits);
  EXPECT_EQ(shown_first.Find("debt")->bytes_per_level, 1);
  LoadSample shown_last;
  shown_last.AddHighest(limits);
  shown_last.AddHighest(shown);
  EXPECT_EQ(shown_last.Find("debt")->bytes_per_level, 1);
}

}  // namespace
}  // namespace weir
