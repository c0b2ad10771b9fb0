// When the relay compacts what was removed.
#include "relay/upkeep/space_return.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr uint64_t kMebi = 1 << 20;
constexpr Duration kMinute = std::chrono::minutes(1);

class SpaceReturnTest : public testing::Test {
 protected:
  // Looks once a minute.
  bool Look(uint64_t removed_bytes, uint64_t disk_bytes = 1000 * kMebi) {
    now_ += kMinute;
    return space_return_.IsDue(removed_bytes, disk_bytes, now_);
  }

  SpaceReturn space_return_;
  TimePoint now_{};
};

TEST_F(SpaceReturnTest, ItIsDueWhenARemovalHasEnded) {
  for (uint64_t removed = 100; removed <= 500; removed += 100) EXPECT_FALSE(Look(removed * kMebi));
  EXPECT_FALSE(Look(500 * kMebi));
  EXPECT_TRUE(Look(501 * kMebi)) << "little is written meanwhile";
}

TEST_F(SpaceReturnTest, ItIsNotDueForLittle) {
  for (int look = 0; look < 10; ++look) EXPECT_FALSE(Look(199 * kMebi));
  for (int look = 0; look < 10; ++look) EXPECT_FALSE(Look(kMebi - 1, kMebi));
  for (int look = 0; look < 10; ++look) EXPECT_FALSE(Look(0, 0));
}

TEST_F(SpaceReturnTest, ItIsNotDueWhileRocksDbGivesSpaceBack) {
  for (uint64_t removed = 900; removed > 200; removed -= 20) EXPECT_FALSE(Look(removed * kMebi));
}

TEST_F(SpaceReturnTest, CompactionsTakeATwentiethOfTheTime) {
  space_return_.NoteCompaction(now_, now_ + 30 * kMinute);
  now_ += 30 * kMinute;
  int looks = 1;
  while (!Look(500 * kMebi)) ++looks;
  EXPECT_EQ(looks, 30 * SpaceReturn::kPauseForTime);
  space_return_.NoteCompaction(now_, now_);
  looks = 1;
  while (!Look(500 * kMebi)) ++looks;
  EXPECT_EQ(looks, 10);
}

}  // namespace
}  // namespace weir
