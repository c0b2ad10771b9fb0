// The place of checkpoints: one process at a time has it, and nothing stays there.
#include "relay/upkeep/checkpoint_place.h"

#include <unistd.h>

#include "tests/fixtures/has_text.h"
#include "tests/relay/upkeep/backup_fixture.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

class CheckpointPlaceTest : public BackupTest {
 protected:
  const std::string database_ = data_ + "/events";
  const std::string checkpoint_ = CheckpointPlace::CheckpointIn(database_);
};

TEST_F(CheckpointPlaceTest, IsClearedWhenItIsTakenAndWhenItIsLeft) {
  fs::create_directories(checkpoint_ + "/left over");
  fs::create_directories(checkpoint_ + ".tmp");
  {
    const auto place = CheckpointPlace::Take(database_);
    ASSERT_TRUE(place.ok()) << place.status().message();
    EXPECT_FALSE(fs::exists(checkpoint_));
    EXPECT_FALSE(fs::exists(checkpoint_ + ".tmp"));
    ASSERT_TRUE(MakeCheckpoint(store_->db(), checkpoint_).ok());
    EXPECT_TRUE(fs::exists(checkpoint_ + "/CURRENT"));
  }
  EXPECT_FALSE(fs::exists(checkpoint_));
}

TEST_F(CheckpointPlaceTest, OneProcessHasIt) {
  EXPECT_FALSE(CheckpointPlace::IsTaken(database_));
  const auto place = CheckpointPlace::Take(database_);
  EXPECT_TRUE(CheckpointPlace::IsTaken(database_));
  const auto second = CheckpointPlace::Take(database_);
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(Has(second.status().message(), "is under way, by process " + std::to_string(getpid())))
      << second.status().message();
}

TEST_F(CheckpointPlaceTest, OnlyAnAbandonedCheckpointIsRemoved) {
  ASSERT_TRUE(CheckpointPlace::RemoveAbandoned(database_).ok()) << "there is none";
  auto place = CheckpointPlace::Take(database_);
  ASSERT_TRUE(MakeCheckpoint(store_->db(), checkpoint_).ok());
  ASSERT_TRUE(CheckpointPlace::RemoveAbandoned(database_).ok());
  EXPECT_TRUE(fs::exists(checkpoint_));
  place.value().reset();
  fs::create_directories(checkpoint_ + ".tmp");
  ASSERT_TRUE(CheckpointPlace::RemoveAbandoned(database_).ok());
  EXPECT_FALSE(fs::exists(checkpoint_ + ".tmp"));
}

TEST_F(CheckpointPlaceTest, ACheckpointOfAClosedDatabaseHasItsLog) {
  Save(20);
  SaveAll(*store_, {Plain(Author(2), 5, 1, {}, "only in the log")});
  // A checkpoint is like a database whose process was killed: what it had not put into tables is in the log.
  const std::string killed = directory_ / "killed";
  fs::create_directories(killed);
  ASSERT_TRUE(MakeCheckpoint(store_->db(), killed + "/events").ok());
  const auto place = CheckpointPlace::Take(killed + "/events");
  const Status made = MakeCheckpointOfClosed(killed + "/events", place.value()->checkpoint());
  ASSERT_TRUE(made.ok()) << made.message();
  fs::create_directories(directory_ / "copy");
  fs::rename(place.value()->checkpoint(), directory_ / "copy/events");
  ExpectWhole(directory_ / "copy");
  EXPECT_EQ(StoredIds(*store_).size(), 21U);
}

TEST_F(CheckpointPlaceTest, ADamagedDatabaseIsNotCopied) {
  Save(20);
  const std::string closed = directory_ / "closed";
  ASSERT_TRUE(MakeCheckpoint(store_->db(), closed).ok());
  fs::remove(closed + "/" + TablesIn(closed).front());
  const Status made = MakeCheckpointOfClosed(closed, directory_ / "copy");
  ASSERT_FALSE(made.ok());
  EXPECT_FALSE(fs::exists(directory_ / "copy"));
}

TEST_F(CheckpointPlaceTest, ADirectoryThatIsThereIsNoPlace) {
  fs::create_directories(directory_ / "copy.tmp");
  fs::create_directories(directory_ / "taken");
  store_.reset();
  EXPECT_TRUE(Has(MakeCheckpointOfClosed(database_, directory_ / "copy").message(), "File exists"));
  Open(data_);
  EXPECT_FALSE(MakeCheckpoint(store_->db(), directory_ / "taken").ok());
}

}  // namespace
}  // namespace weir
