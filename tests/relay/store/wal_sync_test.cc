#include "relay/store/wal_sync.h"

#include <gtest/gtest.h>

#include <atomic>

#include "rocksdb/utilities/stackable_db.h"
#include "tests/fixtures/eventually.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

// A database whose first syncs of the log fail.
class FailingDisk final : public rocksdb::StackableDB {
 public:
  FailingDisk(rocksdb::DB* db, int failures)
      : StackableDB(std::shared_ptr<rocksdb::DB>(db, [](rocksdb::DB*) {})), left_(failures) {}
  rocksdb::Status SyncWAL() override {
    ++syncs_;
    return left_-- > 0 ? rocksdb::Status::IOError("no") : rocksdb::Status::OK();
  }
  int syncs() const { return syncs_; }

 private:
  std::atomic<int> left_;
  std::atomic<int> syncs_ = 0;
};

class WalSyncTest : public testing::Test {
 protected:
  TempDirectory directory_;
  std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "events"));
};

TEST_F(WalSyncTest, ASyncThatFailedIsDoneAgainThoughNothingMoreIsWritten) {
  FailingDisk disk(store_->db(), 3);
  WalSync sync(&disk, milliseconds(1));
  sync.Written();
  EXPECT_TRUE(Eventually([&] { return disk.syncs() == 4; }));
}

TEST_F(WalSyncTest, SyncsEachWriteOnceAndNothingMore) {
  FailingDisk disk(store_->db(), 0);
  {
    WalSync sync(&disk, milliseconds(1));
    sync.Written();
    EXPECT_TRUE(Eventually([&] { return disk.syncs() == 1; }));
    sync.Written();
    EXPECT_TRUE(Eventually([&] { return disk.syncs() == 2; }));
  }
  EXPECT_EQ(disk.syncs(), 2);
}

}  // namespace
}  // namespace weir
