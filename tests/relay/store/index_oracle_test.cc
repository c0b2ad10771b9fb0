// The oracle is right about a good store, and sees what is planted.
#include "tests/relay/store/index_oracle.h"

#include <gtest/gtest.h>

#include "rocksdb/db.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

TEST(IndexOracle, AgreesWithTheStoreAndSeesWhatIsWrong) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  RandomNostr random(3, 300);
  SaveAll(*store, random.events(), RandomNostr::kStart);
  EXPECT_EQ(IndexDifference(*store), "");
  rocksdb::ColumnFamilyHandle* index = store->families()[2];
  ASSERT_TRUE(store->db()->Put({}, index, "x" + std::string(14, '\x7f'), "").ok());
  EXPECT_EQ(IndexDifference(*store), "stray: x\n");
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> at(store->db()->NewIterator(options, index));
  at->Seek("k");
  ASSERT_TRUE(at->Valid());
  ASSERT_TRUE(store->db()->Delete({}, index, at->key()).ok());
  EXPECT_EQ(IndexDifference(*store), "missing: k\nstray: x\n");
}

}  // namespace
}  // namespace weir
