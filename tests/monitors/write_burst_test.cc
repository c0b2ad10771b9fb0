#include "monitors/write_burst.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir {
namespace {

constexpr double kMiB = 1 << 20;

uint64_t MiB(double n) { return static_cast<uint64_t>(n * kMiB); }

TEST(WriteBurst, IsHalfTheSmallestBufferUntilSharesAreKnown) {
  EXPECT_EQ(WriteBurst({8 * kMiB, 1 * kMiB, 4 * kMiB}).Bytes(), MiB(0.5));
  EXPECT_EQ(WriteBurst({4 * kMiB}).Bytes(), MiB(2));
}

TEST(WriteBurst, AFamilyWithOneKeySetsNothing) {
  WriteBurst burst({1 * kMiB, 8 * kMiB});
  burst.Took(0, 50);
  burst.Took(1, 64 * kMiB);
  EXPECT_EQ(burst.Bytes(), MiB(4));
}

TEST(WriteBurst, TheFamilyThatFillsItsBufferSoonestSetsIt) {
  WriteBurst burst({1 * kMiB, 8 * kMiB});
  for (int n = 0; n < 100; ++n) {
    burst.Took(0, 0.3 * kMiB);
    burst.Took(1, 0.7 * kMiB);
  }
  EXPECT_NEAR(static_cast<double>(burst.Bytes()), 0.5 * kMiB / 0.3, 0.05 * kMiB);
}

TEST(WriteBurst, FollowsWhereTheDataGoes) {
  WriteBurst burst({1 * kMiB, 8 * kMiB});
  for (int n = 0; n < 100; ++n) burst.Took(0, kMiB);
  EXPECT_NEAR(static_cast<double>(burst.Bytes()), 0.5 * kMiB, 0.01 * kMiB);
  for (int n = 0; n < 1000; ++n) burst.Took(1, kMiB);
  EXPECT_EQ(burst.Bytes(), MiB(4));
}

TEST(WriteBurst, TheShareOfAFamilyIsItsPartOfRecentWrites) {
  WriteBurst burst({4 * kMiB, 4 * kMiB});
  EXPECT_EQ(burst.ShareOf(0), 1) << "nobody knows";
  EXPECT_EQ(burst.ShareOf(1), 1);
  for (int n = 0; n < 100; ++n) {
    burst.Took(0, 0.75 * kMiB);
    burst.Took(1, 0.25 * kMiB);
  }
  EXPECT_NEAR(burst.ShareOf(0), 0.75, 0.01);
  EXPECT_NEAR(burst.ShareOf(1), 0.25, 0.01);
  EXPECT_EQ(WriteBurst({kMiB}).ShareOf(0), 1);
}

TEST(WriteBurst, NegativeAndInvalidSizesDoNoHarm) {
  WriteBurst burst({1 * kMiB, 8 * kMiB});
  burst.Took(1, -kMiB);
  burst.Took(0, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(burst.Bytes(), MiB(0.5));
  EXPECT_EQ(WriteBurst({}).Bytes(), 0u);
}

}  // namespace
}  // namespace weir
