// weir backup and weir compact, beside a relay that runs and without one.
#include "relay/commands/backup_command.h"

#include <sys/resource.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "relay/commands/check_command.h"
#include "relay/commands/compact_command.h"
#include "relay/management_plugin.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/store/rocksdb_store.h"
#include "relay/upkeep/backup_directory.h"
#include "relay/upkeep/checkpoint_place.h"
#include "relay/upkeep_plugin.h"
#include "tests/fixtures/called_command.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/without_log.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

class BackupCommandTest : public RelayServerTest {
 protected:
  BackupCommandTest() { SaveNote(); }
  ~BackupCommandTest() override { relay_.reset(); }

  void OpenRelay() { Open({&management_, &upkeep_}); }
  // Saves a note into the database, which no process has open.
  void SaveNote() {
    const auto store = RocksDbStore::Open({.path = data() + "/events", .memory_target_bytes = 256ull << 20});
    ASSERT_TRUE(store.ok()) << store.status().message();
    const std::vector<Event> events = {EventParser().Parse(Signer(1).SignedEvent(++notes_, 1, "[]", "a note")).value()};
    std::vector<SaveResult> results(1);
    ASSERT_TRUE(store.value()->Save(events, 0, results).ok());
  }
  Ran Run(int (*command)(int, char**), std::vector<std::string> arguments) const {
    Ran ran = CallCommand(command, std::move(arguments));
    ran.out = WithoutLog(ran.out);
    return ran;
  }
  Ran Backup(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"weir backup", backups_, "--data-dir", data()};
    words.insert(words.end(), more.begin(), more.end());
    return Run(BackupCommand, words);
  }
  std::string data() const { return configuration_.data_dir; }
  // Returns what is printed about a sound database with these notes.
  static std::string Sound(uint64_t notes) {
    return std::to_string(notes) + " events, " + std::to_string(4 * notes) + " index entries, 0 marks: nothing wrong\n";
  }

  const std::string backups_ = directory_ / "backups";
  uint64_t notes_ = 0;
  ManagementPlugin management_;
  UpkeepPlugin upkeep_{management_.methods()};
};

TEST_F(BackupCommandTest, BacksUpBesideARelayAndWithoutOne) {
  const Ran closed = Backup();
  ASSERT_EQ(closed.code, 0) << closed.err;
  SaveNote();
  OpenRelay();
  const Ran beside = Backup();
  ASSERT_EQ(beside.code, 0) << beside.err;
  EXPECT_NE(closed.out, beside.out);
  EXPECT_TRUE(Has(beside.err, "are in the backup before, too")) << beside.err;
  const std::pair<const Ran&, uint64_t> backups[] = {{closed, 1}, {beside, 2}};
  for (const auto& [ran, notes] : backups) {
    const std::string path = ran.out.substr(0, ran.out.size() - 1);
    EXPECT_TRUE(ran.out.starts_with(backups_ + "/20")) << ran.out;
    const Ran checked = Run(CheckCommand, {"weir check", path, "--signatures"});
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_EQ(checked.out, Sound(notes));
    EXPECT_FALSE(fs::exists(path + "/admin.token"));
  }
  EXPECT_FALSE(fs::exists(CheckpointPlace::CheckpointIn(data() + "/events")));
}

TEST_F(BackupCommandTest, TheProgramThatCallsItKeepsItsPriority) {
  const int before = getpriority(PRIO_PROCESS, 0);
  ASSERT_EQ(Backup().code, 0);
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
}

TEST_F(BackupCommandTest, CheckTakesTheNewestBackupAndChangesNothing) {
  ASSERT_EQ(Backup().code, 0);
  SaveNote();
  ASSERT_EQ(Backup().code, 0);
  const auto state = [this] {
    std::vector<std::string> files;
    for (const auto& file : fs::recursive_directory_iterator(backups_))
      files.push_back(file.path().string() + " " + std::to_string(file.is_directory() ? 0 : file.file_size()) + " " +
                      std::to_string(file.last_write_time().time_since_epoch().count()));
    std::ranges::sort(files);
    return files;
  };
  const std::vector<std::string> before = state();
  const Ran checked = Run(CheckCommand, {"weir check", backups_});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_EQ(checked.out, Sound(2));
  EXPECT_TRUE(Has(checked.err, "checking the newest backup, " + backups_)) << checked.err;
  EXPECT_EQ(state(), before);
}

TEST_F(BackupCommandTest, ARelayRunsOnABackup) {
  const Ran backup = Backup();
  configuration_.data_dir = backup.out.substr(0, backup.out.size() - 1);
  OpenRelay();
  relay_.reset();
  SaveNote();
  EXPECT_EQ(Run(CheckCommand, {"weir check", "--data-dir", data()}).out, Sound(2));
}

TEST_F(BackupCommandTest, KeepsAsManyAsAskedFor) {
  for (int i = 0; i < 4; ++i) ASSERT_EQ(Backup({"--keep", "2"}).code, 0);
  EXPECT_EQ(BackupsIn(backups_).size(), 2U);
}

TEST_F(BackupCommandTest, SaysWhatIsWrong) {
  const struct {
    std::vector<std::string> arguments;
    int code;
    std::string part_of_error;
  } cases[] = {
      {{backups_, "--data-dir", directory_ / "none"}, 2, "there is no database in"},
      {{data() + "/backups", "--data-dir", data()}, 1, "is in the data directory"},
      {{"--data-dir", data()}, 2, "DIR is required"},
      {{backups_, "--keep", "0", "--data-dir", data()}, 2, "--keep"},
  };
  for (const auto& c : cases) {
    std::vector<std::string> words = c.arguments;
    words.insert(words.begin(), "weir backup");
    const Ran ran = Run(BackupCommand, words);
    EXPECT_EQ(ran.code, c.code) << ran.err;
    EXPECT_TRUE(Has(ran.err, c.part_of_error)) << ran.err;
  }
  const auto place = CheckpointPlace::Take(data() + "/events");
  EXPECT_TRUE(Has(Backup().err, "is under way")) << "two at once";
}

TEST_F(BackupCommandTest, SaysWhatToUseForPostgres) {
  setenv("WEIR_STORE", "postgres://weir:secret@db/weir", 1);
  const Ran backup = Backup();
  const Ran compact = Run(CompactCommand, {"weir compact", "--data-dir", data()});
  unsetenv("WEIR_STORE");
  EXPECT_EQ(backup.code, 2);
  EXPECT_TRUE(Has(backup.err, "pg_dump")) << backup.err;
  EXPECT_FALSE(Has(backup.err, "secret")) << backup.err;
  EXPECT_EQ(compact.code, 2);
  EXPECT_TRUE(Has(compact.err, "VACUUM")) << compact.err;
}

TEST_F(BackupCommandTest, AnotherProgramOnTheDatabaseIsNamed) {
  const auto store = RocksDbStore::Open({.path = data() + "/events", .memory_target_bytes = 256ull << 20});
  const Ran backup = Backup();
  EXPECT_EQ(backup.code, 1);
  EXPECT_TRUE(Has(backup.err, "which is no relay")) << backup.err;
  EXPECT_TRUE(BackupsIn(backups_).empty());
}

TEST_F(BackupCommandTest, CompactsBesideARelayAndWithoutOne) {
  for (int round = 0; round < 2; ++round) {
    if (round == 1) OpenRelay();
    const Ran ran = Run(CompactCommand, {"weir compact", "--data-dir", data()});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(ran.out.starts_with("the database had ")) << ran.out;
  }
  relay_.reset();
  EXPECT_EQ(Run(CheckCommand, {"weir check", "--data-dir", data()}).out, Sound(1));
}

}  // namespace
}  // namespace weir
