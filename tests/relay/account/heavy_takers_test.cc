#include "relay/account/heavy_takers.h"

#include <gtest/gtest.h>

#include <vector>

#include "relay/account/work_pool.h"
#include "tests/fixtures/eventually.h"

namespace weir {
namespace {

TEST(HeavyTakers, AreShownFromTheMostOn) {
  HeavyTakers takers;
  takers.Add(1, 10, 100);
  takers.Add(2, 20, 500);
  takers.Add(1, 10, 50);
  const auto heaviest = takers.Heaviest();
  ASSERT_EQ(heaviest.size(), 2U);
  EXPECT_EQ(heaviest[0].key, 2U);
  EXPECT_EQ(heaviest[1].key, 1U);
  EXPECT_EQ(heaviest[1].group, 10U);
  EXPECT_EQ(heaviest[1].work, 150);
}

TEST(HeavyTakers, AHeavyTakerIsFoundAmongAnyNumberOfOthers) {
  HeavyTakers takers;
  Work all = 0;
  for (uint64_t i = 0; i < 100'000; ++i) {
    takers.Add(1000 + i, 0, 1000);
    takers.Add(7, 0, 100);
    all += 1100;
  }
  const auto heaviest = takers.Heaviest();
  EXPECT_EQ(heaviest.size(), HeavyTakers::kPlaces);
  EXPECT_EQ(heaviest[0].key, 7U);
  EXPECT_GE(heaviest[0].work, 100.0 * 100'000) << "never too little";
  EXPECT_LE(heaviest[0].work, 100.0 * 100'000 + static_cast<double>(all) / HeavyTakers::kPlaces);
}

TEST(HeavyTakers, AreForgotten) {
  HeavyTakers takers;
  takers.Add(1, 0, 1000);
  takers.Fade(0.5);
  EXPECT_EQ(takers.Heaviest().at(0).work, 500);
  for (int i = 0; i < 100; ++i) takers.Fade(0.9);
  EXPECT_TRUE(takers.Heaviest().empty());
}

TEST(WorkPool, KnowsTheHeaviestAddressesAndConnections) {
  WorkPool pool(2);
  for (uint64_t connection = 1; connection <= 3; ++connection)
    pool.Submit(Urgency::kFair, {.id = connection, .group = 9}, [] { return Work{1000}; });
  pool.Submit(Urgency::kFair, {.id = 4, .group = 11}, [] { return Work{2000}; });
  ASSERT_TRUE(Eventually([&pool] { return pool.HeaviestTakers().parties.size() == 4; }));
  const WorkPool::Heaviest heaviest = pool.HeaviestTakers();
  ASSERT_EQ(heaviest.groups.size(), 2U);
  EXPECT_EQ(heaviest.groups[0].key, 9U);
  EXPECT_EQ(heaviest.groups[0].work, 3000);
  EXPECT_EQ(heaviest.parties[0].key, 4U);
  EXPECT_EQ(heaviest.parties[0].group, 11U);
  pool.FadeTakers(0);
  EXPECT_TRUE(pool.HeaviestTakers().groups.empty());
}

}  // namespace
}  // namespace weir
