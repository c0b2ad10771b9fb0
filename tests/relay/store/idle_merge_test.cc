#include "relay/store/idle_merge.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "relay/store/group_commit.h"
#include "tests/fixtures/eventually.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

constexpr int kUsual = 8;

class IdleMergeTest : public testing::Test {
 protected:
  rocksdb::ColumnFamilyHandle* Events() const { return store_->families()[1]; }
  int Trigger() const { return store_->db()->GetOptions(Events()).level0_file_num_compaction_trigger; }
  int FilesIn(int level) const {
    std::string files;
    const std::string name = rocksdb::DB::Properties::kNumFilesAtLevelPrefix + std::to_string(level);
    EXPECT_TRUE(store_->db()->GetProperty(Events(), name, &files));
    return std::stoi(files);
  }
  void AddAFile() {
    ++number_;
    SaveAll(*store_, {Plain(Author(1), number_, 1)});
    ASSERT_TRUE(store_->Flush().ok());
  }
  void Look(int times) {
    for (int n = 0; n < times; ++n) ASSERT_TRUE(store_->Upkeep().ok());
  }
  bool IsMerged() const { return FilesIn(0) == 0 && FilesIn(1) > 0; }

  TempDirectory directory_;
  std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "events"));
  uint64_t number_ = 0;
};

TEST_F(IdleMergeTest, MergesAfterFiveQuietLooksAndThenWaitsAsBefore) {
  for (int n = 0; n < 3; ++n) AddAFile();
  Look(IdleMerge::kQuietLooks);  // the first one finds them
  EXPECT_EQ(Trigger(), kUsual);
  EXPECT_EQ(FilesIn(0), 3);
  Look(1);
  EXPECT_EQ(Trigger(), 1);
  EXPECT_TRUE(Eventually([&] { return IsMerged(); }));
  Look(1);
  EXPECT_EQ(Trigger(), kUsual);
  AddAFile();
  EXPECT_EQ(FilesIn(0), 1);
  EXPECT_EQ(StoredIds(*store_).size(), 4U);
}

TEST_F(IdleMergeTest, AFileThatIsAddedBeginsTheWaitAnew) {
  AddAFile();
  Look(IdleMerge::kQuietLooks);
  AddAFile();
  Look(IdleMerge::kQuietLooks);
  EXPECT_EQ(Trigger(), kUsual);
  EXPECT_EQ(FilesIn(0), 2);
}

TEST_F(IdleMergeTest, AFileThatIsTakenBeginsTheWaitAnew) {
  ASSERT_TRUE(store_->db()->SetOptions(Events(), {{"disable_auto_compactions", "true"}}).ok());
  for (int n = 0; n < 3; ++n) AddAFile();
  Look(IdleMerge::kQuietLooks);
  rocksdb::ColumnFamilyMetaData family;
  store_->db()->GetColumnFamilyMetaData(Events(), &family);
  const std::string oldest = family.levels[0].files.back().name;
  ASSERT_TRUE(store_->db()->CompactFiles(rocksdb::CompactionOptions(), Events(), {oldest}, 1).ok());
  EXPECT_EQ(FilesIn(0), 2);
  Look(IdleMerge::kQuietLooks);
  EXPECT_EQ(Trigger(), kUsual);
}

// On a busy relay files come and go, and their number may be the same at each look.
TEST_F(IdleMergeTest, AFileThatTakesThePlaceOfAnotherBeginsTheWaitAnew) {
  ASSERT_TRUE(store_->db()->SetOptions(Events(), {{"disable_auto_compactions", "true"}}).ok());
  AddAFile();
  for (int look = 0; look < 3 * IdleMerge::kQuietLooks; ++look) {
    AddAFile();
    rocksdb::ColumnFamilyMetaData family;
    store_->db()->GetColumnFamilyMetaData(Events(), &family);
    std::vector<std::string> moved = {family.levels[0].files.back().name};
    for (const rocksdb::SstFileMetaData& file : family.levels[1].files) moved.push_back(file.name);
    ASSERT_TRUE(store_->db()->CompactFiles(rocksdb::CompactionOptions(), Events(), moved, 1).ok());
    ASSERT_EQ(FilesIn(0), 1);
    Look(1);
    EXPECT_EQ(Trigger(), kUsual);
  }
}

TEST_F(IdleMergeTest, AFileThatIsAddedEndsTheMerging) {
  ASSERT_TRUE(store_->db()->SetOptions(Events(), {{"disable_auto_compactions", "true"}}).ok());
  AddAFile();
  Look(IdleMerge::kQuietLooks + 1);
  EXPECT_EQ(Trigger(), 1);
  AddAFile();
  Look(1);
  EXPECT_EQ(Trigger(), kUsual);
}

TEST_F(IdleMergeTest, WithNothingInLevel0ThereIsNothingToDo) {
  Look(3 * IdleMerge::kQuietLooks);
  EXPECT_EQ(Trigger(), kUsual);
}

TEST_F(IdleMergeTest, TheCommitThreadLooks) {
  AddAFile();
  ManualWallClock clock{1'000'000};
  GroupCommit commit(
      *store_, [](GroupCommit::Submissions, const Status&) {}, {}, clock);
  const std::vector<Event> stored = {ToEvent(Plain(Author(1), 1, 1))};
  EXPECT_TRUE(Eventually([&] {
    clock.Advance(60);
    std::vector<SaveResult> results(1);
    return commit.SaveBulk(stored, results).ok() && IsMerged();  // so that the thread goes round
  }));
}

}  // namespace
}  // namespace weir
