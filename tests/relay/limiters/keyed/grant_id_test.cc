#include "relay/limiters/keyed/grant_id.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace weir {
namespace {

TEST(GrantId, IsEncipheredAsThePublishedExampleOfSpeck64With128BitsIs) {
  const NumberCipher cipher({0x03020100, 0x0b0a0908, 0x13121110, 0x1b1a1918});
  EXPECT_EQ(cipher.Encipher(0x3b7265747475432d), 0x8c6fa548454e028b);
  EXPECT_EQ(cipher.Decipher(0x8c6fa548454e028b), 0x3b7265747475432d);
}

TEST(GrantId, IsTheNumbersAlone) {
  for (const uint64_t grant : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 63, UINT64_MAX}) {
    const std::string id = GrantId(grant);
    EXPECT_EQ(id.size(), 16u);
    EXPECT_EQ(GrantOf(id), grant);
  }
  for (const char* none : {"", "0", "000000000000000g", "00000000000000000"}) EXPECT_FALSE(GrantOf(none)) << none;
}

// About half of an id's bits differ from those of the next. If ids were counted up it would mostly be one bit.
TEST(GrantId, TellsNothingOfItsNeighbours) {
  std::set<int> differing;
  for (uint64_t grant = 1'000; grant < 1'256; ++grant) {
    const auto word = [](uint64_t number) { return std::stoull(GrantId(number), nullptr, 16); };
    differing.insert(std::popcount(word(grant) ^ word(grant + 1)));
  }
  EXPECT_GE(*differing.begin(), 10);
}

}  // namespace
}  // namespace weir
