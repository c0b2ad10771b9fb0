// Checkpoints and compactions in a relay.
#include "relay/upkeep/upkeep.h"

#include <atomic>

#include "relay/upkeep/checkpoint_place.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/upkeep/backup_fixture.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

class UpkeepTest : public BackupTest {
 protected:
  std::unique_ptr<Upkeep> Start(Duration look_every = Upkeep::kLookEvery) {
    return std::make_unique<Upkeep>(
        *store_, data_ + "/events", [this] { return held_.load(); }, look_every);
  }
  // Saves notes, compacts them into the deepest level, and removes half of them. The marks of removal stay in memory,
  // as they do on a relay to which nothing is written later. Returns the bytes on disk.
  uint64_t SaveAndRemoveHalf(int notes) {
    Save(notes);
    {
      const auto upkeep = Start();
      EXPECT_TRUE(upkeep->BeginCompaction().ok());
      EXPECT_TRUE(Eventually([&] { return !upkeep->compaction().runs; }));
    }
    std::vector<EventId> ids;
    for (const std::string& id : StoredIds(*store_)) ids.push_back(ToBytes(id));
    ids.resize(ids.size() / 2);
    EXPECT_TRUE(store_->Delete(ids).ok());
    return store_->Sizes().disk_bytes;
  }
  // Removes the notes that were saved before, and leaves their marks of removal in tables.
  void RemoveAll() {
    std::vector<EventId> ids;
    for (const std::string& id : StoredIds(*store_)) ids.push_back(ToBytes(id));
    ASSERT_TRUE(store_->Delete(ids).ok());
    ASSERT_TRUE(store_->Flush().ok());
  }

  std::atomic<bool> held_{false};
};

TEST_F(UpkeepTest, ACheckpointIsMadeOnlyAtAPlaceThatIsTaken) {
  Save(10);
  const auto upkeep = Start();
  EXPECT_EQ(upkeep->MakeCheckpoint().message(), "no `weir backup` waits for a checkpoint");
  EXPECT_FALSE(upkeep->backup_runs());
  const auto place = CheckpointPlace::Take(data_ + "/events");
  EXPECT_TRUE(upkeep->backup_runs());
  const Status made = upkeep->MakeCheckpoint();
  ASSERT_TRUE(made.ok()) << made.message();
  EXPECT_TRUE(fs::exists(place.value()->checkpoint() + "/CURRENT"));
}

TEST_F(UpkeepTest, TheRelayRemovesAnAbandonedCheckpointWhenItStartsButNotOneInUse) {
  auto place = CheckpointPlace::Take(data_ + "/events");
  const std::string checkpoint = place.value()->checkpoint();
  ASSERT_TRUE(Start()->MakeCheckpoint().ok());
  Start().reset();
  EXPECT_TRUE(fs::exists(checkpoint)) << "a backup goes on while the relay restarts";
  place.value().reset();
  fs::create_directories(checkpoint);
  const auto upkeep = Start();
  EXPECT_TRUE(Eventually([&] { return !fs::exists(checkpoint); }));
}

TEST_F(UpkeepTest, CompactingGivesBackWhatWasRemoved) {
  for (int i = 0; i < 3; ++i) Save(500);
  RemoveAll();
  Save(10);
  const std::vector<std::string> before = StoredIds(*store_);
  const auto upkeep = Start();
  ASSERT_TRUE(upkeep->BeginCompaction().ok());
  ASSERT_TRUE(Eventually([&] { return !upkeep->compaction().runs; }));
  const Compaction done = upkeep->compaction();
  EXPECT_EQ(done.error, "");
  EXPECT_EQ(done.done, 1);
  EXPECT_LT(done.bytes_now, done.bytes_then / 4);
  EXPECT_EQ(StoredIds(*store_), before);
  EXPECT_TRUE(CheckStore(*store_).value().clean());
}

TEST_F(UpkeepTest, ACompactionWaitsWhileBulkWorkIsHeldBackAndCanBeCancelled) {
  Save(100);
  held_ = true;
  const auto upkeep = Start();
  EXPECT_FALSE(upkeep->CancelCompaction()) << "none runs";
  ASSERT_TRUE(upkeep->BeginCompaction().ok());
  ASSERT_TRUE(Eventually([&] { return upkeep->compaction().waits; }));
  EXPECT_TRUE(Has(upkeep->BeginCompaction().message(), "a compaction runs already"));
  EXPECT_TRUE(upkeep->CancelCompaction());
  ASSERT_TRUE(Eventually([&] { return !upkeep->compaction().runs; }));
  EXPECT_EQ(upkeep->compaction().error, "it was cancelled");
  held_ = false;
  ASSERT_TRUE(upkeep->BeginCompaction().ok());
  ASSERT_TRUE(Eventually([&] { return !upkeep->compaction().runs; }));
  EXPECT_EQ(upkeep->compaction().error, "");
}

TEST_F(UpkeepTest, StoppingEndsACompactionThatWaits) {
  Save(10);
  held_ = true;
  const auto upkeep = Start();
  ASSERT_TRUE(upkeep->BeginCompaction().ok());
  ASSERT_TRUE(Eventually([&] { return upkeep->compaction().waits; }));
  upkeep->Stop();
  EXPECT_FALSE(upkeep->compaction().runs);
  EXPECT_EQ(upkeep->BeginCompaction().message(), "the relay stops");
}

TEST_F(UpkeepTest, EventsAreSavedWhileACompactionRuns) {
  for (int i = 0; i < 5; ++i) Save(400);
  const auto upkeep = Start();
  ASSERT_TRUE(upkeep->BeginCompaction().ok());
  do Save(20);
  while (upkeep->compaction().runs);
  EXPECT_EQ(upkeep->compaction().error, "");
  EXPECT_EQ(StoredIds(*store_).size(), number_);
  EXPECT_TRUE(CheckStore(*store_).value().clean());
}

// RocksDB itself gives the space back when much more is written; IdleMerge, which the commit thread calls once a
// minute, merges no deeper than level 1.
TEST_F(UpkeepTest, TheSpaceOfRemovedEventsComesBackOnAnIdleRelay) {
  const uint64_t before = SaveAndRemoveHalf(2000);
  const std::vector<std::string> kept = StoredIds(*store_);
  for (int minute = 0; minute < 20; ++minute) ASSERT_TRUE(store_->Upkeep().ok());
  EXPECT_GT(store_->RemovedBytes(), SpaceReturn::kLeastBytes);
  const auto upkeep = Start(std::chrono::milliseconds(1));
  EXPECT_TRUE(Eventually([&] { return store_->RemovedBytes() < before / 50; }));
  EXPECT_TRUE(Eventually([&] { return store_->Sizes().disk_bytes < before * 3 / 5; })) << store_->Sizes().disk_bytes;
  EXPECT_EQ(StoredIds(*store_), kept);
  EXPECT_TRUE(CheckStore(*store_).value().clean());
}

TEST_F(UpkeepTest, TheSpaceComesBackAsBulkWorkAndALargerCompactionGoesFirst) {
  const uint64_t before = SaveAndRemoveHalf(2000);
  held_ = true;
  const auto upkeep = Start(std::chrono::milliseconds(1));
  ASSERT_TRUE(Eventually([&] { return upkeep->returns_space(); }));
  EXPECT_GE(store_->Sizes().disk_bytes, before);
  ASSERT_TRUE(upkeep->BeginCompaction().ok());
  ASSERT_TRUE(Eventually([&] { return upkeep->compaction().waits; }));
  EXPECT_FALSE(upkeep->returns_space());
  held_ = false;
  ASSERT_TRUE(Eventually([&] { return !upkeep->compaction().runs; }));
  EXPECT_EQ(upkeep->compaction().error, "");
}

TEST_F(UpkeepTest, NothingIsCompactedThatHasNoRemovedEvents) {
  Save(2000);
  std::string resume;
  std::atomic<bool> cancelled{false};
  const Result<CompactedPiece> piece = CompactSome(*store_, CompactWhat::kRemoved, &resume, &cancelled);
  ASSERT_TRUE(piece.ok());
  EXPECT_EQ(piece.value().bytes, 0U);
  EXPECT_EQ(piece.value().left_bytes, 0U);
}

TEST(BulkWork, IsHeldBackByAnEmergencyAndByEachLimit) {
  LimiterView view;
  EXPECT_FALSE(IsBulkHeld(view));
  LimiterView emergency = view;
  emergency.emergency = true;
  EXPECT_TRUE(IsBulkHeld(emergency));
  LimiterView writes = view;
  writes.writes[WorkClass::kBulk].open = false;
  EXPECT_TRUE(IsBulkHeld(writes));
  LimiterView reads = view;
  reads.scans_at_once = 2;
  EXPECT_TRUE(IsBulkHeld(reads));
}

}  // namespace
}  // namespace weir
