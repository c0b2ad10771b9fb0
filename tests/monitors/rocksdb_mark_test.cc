#include "monitors/rocksdb_mark.h"

#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <vector>

namespace weir {
namespace {

using rocksdb::ColumnFamilyOptions;

ColumnFamilyOptions Given() {
  ColumnFamilyOptions given;
  given.level0_slowdown_writes_trigger = -1;
  given.hard_pending_compaction_bytes_limit = UINT64_MAX - 5;
  given.max_bytes_for_level_multiplier_additional = {1, 2, 3};
  return given;
}

ColumnFamilyOptions Moved(const ColumnFamilyOptions& given) {
  ColumnFamilyOptions moved = given;
  moved.level0_slowdown_writes_trigger = 100;
  moved.hard_pending_compaction_bytes_limit = UINT64_MAX;
  moved.min_write_buffer_number_to_merge = 2;
  ColumnFamilyOptions resting = given;
  resting.level0_slowdown_writes_trigger = 36;
  MarkMoved(given, resting, &moved);
  return moved;
}

TEST(RocksDbMark, GivesBackExactlyWhatTheProgramSet) {
  const ColumnFamilyOptions given = Given();
  ColumnFamilyOptions options = Moved(given);
  ASSERT_TRUE(TakeBack(&options));
  EXPECT_EQ(options.level0_slowdown_writes_trigger, -1);
  EXPECT_EQ(options.hard_pending_compaction_bytes_limit, UINT64_MAX - 5);
  EXPECT_EQ(options.min_write_buffer_number_to_merge, given.min_write_buffer_number_to_merge);
  EXPECT_EQ(options.max_bytes_for_level_multiplier_additional, given.max_bytes_for_level_multiplier_additional);
  EXPECT_FALSE(TakeBack(&options)) << "the mark is gone";
}

TEST(RocksDbMark, WhatWasChangedSinceThenStays) {
  ColumnFamilyOptions options = Moved(Given());
  options.level0_slowdown_writes_trigger = 50;
  ASSERT_TRUE(TakeBack(&options));
  EXPECT_EQ(options.level0_slowdown_writes_trigger, 50);
  EXPECT_EQ(options.hard_pending_compaction_bytes_limit, UINT64_MAX - 5);
}

TEST(RocksDbMark, GivesBackWhatWeirChangedWhileItWasOpen) {
  ColumnFamilyOptions resting = Moved(Given());
  resting.level0_slowdown_writes_trigger = 36;
  ColumnFamilyOptions lifted = Moved(Given());
  lifted.level0_slowdown_writes_trigger = lifted.level0_stop_writes_trigger = INT_MAX;
  lifted.soft_pending_compaction_bytes_limit = lifted.hard_pending_compaction_bytes_limit = UINT64_MAX;
  for (ColumnFamilyOptions* options : {&resting, &lifted}) {
    ASSERT_TRUE(TakeBack(options));
    EXPECT_EQ(options->level0_slowdown_writes_trigger, -1);
    EXPECT_EQ(options->level0_stop_writes_trigger, Given().level0_stop_writes_trigger);
    EXPECT_EQ(options->soft_pending_compaction_bytes_limit, Given().soft_pending_compaction_bytes_limit);
  }
  ColumnFamilyOptions set = Moved(Given());
  set.level0_slowdown_writes_trigger = INT_MAX;
  ASSERT_TRUE(TakeBack(&set));
  EXPECT_EQ(set.level0_slowdown_writes_trigger, INT_MAX) << "the program set one of them so";
}

// RocksDB multiplies the size of a level by its element, so existing levels must have those of the program, or 1.
TEST(RocksDbMark, ChangesNoFactorOfAnExistingLevel) {
  for (const int levels : {1, 7, 16, 40}) {
    ColumnFamilyOptions given = Given();
    given.num_levels = levels;
    const std::vector<int> list = Moved(given).max_bytes_for_level_multiplier_additional;
    ASSERT_GT(list.size(), static_cast<size_t>(levels));
    for (size_t i = 0; i < static_cast<size_t>(levels); ++i) EXPECT_EQ(list[i], i < 3 ? static_cast<int>(i) + 1 : 1);
  }
}

TEST(RocksDbMark, AMarkThatWasCutIsNone) {
  const ColumnFamilyOptions marked = Moved(Given());
  ColumnFamilyOptions options = marked;
  for (std::vector<int>& list = options.max_bytes_for_level_multiplier_additional; !list.empty();) {
    list.pop_back();
    const ColumnFamilyOptions before = options;
    ASSERT_FALSE(TakeBack(&options)) << list.size();
    EXPECT_EQ(list, before.max_bytes_for_level_multiplier_additional);
    EXPECT_EQ(options.level0_slowdown_writes_trigger, 100);
  }
}

}  // namespace
}  // namespace weir
