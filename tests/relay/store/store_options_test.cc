#include "relay/store/store_options.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

// Returns the bytes of all families in level 0, when it is compacted, and in level 1.
uint64_t FirstLevels(const StoreOptions& options) {
  uint64_t bytes = 0;
  for (const rocksdb::ColumnFamilyDescriptor& family : Families(options)) {
    if (family.name == rocksdb::kDefaultColumnFamilyName) continue;  // has one key
    const auto files = static_cast<uint64_t>(family.options.level0_file_num_compaction_trigger);
    bytes += files * family.options.write_buffer_size + family.options.max_bytes_for_level_base;
  }
  return bytes;
}

TEST(StoreOptions, TheFirstLevelsAreSmallBesideADiskBudget) {
  for (const bool for_import : {false, true})
    for (const uint64_t budget : {2'000'000'000ull, 4'000'000'000ull})
      EXPECT_LT(FirstLevels({.max_disk_bytes = budget, .for_import = for_import}), budget / 20) << budget;
}

TEST(StoreOptions, ALargeDiskBudgetLeavesTheBuffersAsTheyAre) {
  EXPECT_EQ(FirstLevels({.max_disk_bytes = 100'000'000'000}), FirstLevels({}));
}

}  // namespace
}  // namespace weir
