// Backups in a directory: each is whole, a later one costs only what is new, and nothing goes wrong in silence.
#include "relay/upkeep/backup_directory.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "relay/process/lock_file.h"
#include "relay/store/database.h"
#include "relay/store/keys.h"
#include "rocksdb/utilities/options_util.h"
#include "tests/fixtures/as_nobody.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/private_disk.h"
#include "tests/relay/upkeep/backup_fixture.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

// Returns a directory on another file system than the tests' own; null if there is none.
std::unique_ptr<TempDirectory> OtherDisk(const std::string& than) {
  struct stat own {};
  struct stat other {};
  if (stat(than.c_str(), &own) != 0 || stat("/dev/shm", &other) != 0 || own.st_dev == other.st_dev ||
      access("/dev/shm", W_OK) != 0)
    return nullptr;
  const char* const usual = std::getenv("TMPDIR");
  const std::string before = usual == nullptr ? "" : usual;
  setenv("TMPDIR", "/dev/shm", 1);
  auto directory = std::make_unique<TempDirectory>();
  before.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before.c_str(), 1);
  return directory;
}

TEST_F(BackupTest, ABackupIsADataDirectoryThatServesAndTakesEvents) {
  Save(50);
  const BackupReport report = MustBackup(backups_);
  ExpectWhole(report.path);
  EXPECT_EQ(NamesIn(backups_), (std::vector<std::string>{"2027-01-15T080001Z", "backup.lock"}));
  const std::vector<std::string> before = StoredIds(*store_);

  const auto served = MustOpen(SmallStore(report.path + "/events"));
  SaveInto(*served, 50);
  EXPECT_EQ(StoredIds(*served).size(), 100U);
  EXPECT_EQ(StoredIds(*store_), before) << "the database does not change with its backup";
  EXPECT_TRUE(CheckStore(*store_).value().clean());
}

TEST_F(BackupTest, HasWhatIsOnlyInTheLog) {
  Save(10);
  SaveAll(*store_, {Plain(Author(2), 5, 1, {}, "not in a table yet")});
  const BackupReport report = MustBackup(backups_);
  EXPECT_EQ(StoredIds(*store_).size(), 11U);
  ExpectWhole(report.path);
}

TEST_F(BackupTest, OnTheSameDiskTheTablesAreLinks) {
  Save(50);
  const BackupReport report = MustBackup(backups_);
  EXPECT_GT(report.linked_bytes, 100'000U);
  for (const std::string& table : TablesIn(report.path + "/events"))
    EXPECT_EQ(InodeOf(report.path + "/events/" + table), InodeOf(data_ + "/events/" + table)) << table;
  for (const char* name : {"CURRENT", "IDENTITY"})
    EXPECT_NE(InodeOf(report.path + "/events/" + name), InodeOf(data_ + "/events/" + name));
}

TEST_F(BackupTest, OnAnotherDiskTheSecondBackupCostsOnlyWhatIsNew) {
  const std::unique_ptr<TempDirectory> other = OtherDisk(directory_.path());
  if (other == nullptr) GTEST_SKIP() << "/dev/shm is not another file system";
  Save(200);
  const BackupReport first = MustBackup(*other / "backups");
  EXPECT_EQ(first.linked_bytes + first.shared_bytes, 0U);
  EXPECT_GT(first.copied_bytes, 200'000U);
  Save(5);
  const BackupReport second = MustBackup(*other / "backups");
  EXPECT_EQ(second.linked_bytes, 0U);
  EXPECT_GT(second.shared_bytes, 200'000U);
  EXPECT_LT(second.copied_bytes, first.copied_bytes / 4);
  ExpectWhole(second.path);
  fs::remove_all(first.path);
  ExpectWhole(second.path);
}

TEST_F(BackupTest, ABackupThatWasKilledIsTakenUpAndClearedAway) {
  Save(100);
  const BackupReport first = MustBackup(backups_);
  const std::string left_over = first.path + ".part";
  fs::rename(first.path, left_over);
  const std::vector<std::string> tables = TablesIn(left_over + "/events");
  ASSERT_GE(tables.size(), 2U);
  // The copying of one table was not finished.
  const std::string begun = left_over + "/events/" + tables[0];
  const uint64_t inode = InodeOf(left_over + "/events/" + tables[1]);
  fs::remove(begun);
  std::ofstream(begun + ".part") << "half";
  const BackupReport second = MustBackup(backups_);
  EXPECT_GT(second.shared_bytes, 0U);
  EXPECT_EQ(InodeOf(second.path + "/events/" + tables[1]), inode);
  ExpectWhole(second.path);
  EXPECT_EQ(NamesIn(backups_).size(), 2U) << "the backup and the lock file";
}

TEST_F(BackupTest, ATableOfTheSameNameFromAnotherHistoryIsNotTaken) {
  Save(30);
  const BackupReport common = MustBackup(backups_);
  fs::copy(common.path, directory_ / "restored", fs::copy_options::recursive);
  Save(30);
  MustBackup(backups_);  // the newest backup has tables that the restored database does not have
  number_ += 1000;
  Open(directory_ / "restored");
  Save(30);
  const BackupReport after = MustBackup(backups_);
  EXPECT_GT(after.shared_bytes, 0U);
  ExpectWhole(after.path);
}

TEST_F(BackupTest, TablesOfTwoDatabasesWithTheSameContentAreNotTheSame) {
  Open(directory_ / "one");
  Save(30);
  const std::string one = Checkpoint();
  number_ = 0;
  Open(directory_ / "two");
  Save(30);
  const std::string two = Checkpoint();
  int compared = 0;
  for (const std::string& table : TablesIn(one)) {
    std::error_code error;
    const std::string here = (fs::path(one) / table).string();
    const std::string there = (fs::path(two) / table).string();
    if (fs::file_size(here) != fs::file_size(there, error) || error) continue;
    EXPECT_FALSE(IsSameTable(here, there)) << table;
    ++compared;
  }
  EXPECT_GT(compared, 0) << "tables of the same name and size";
}

TEST_F(BackupTest, ADirectoryWithBackupsOfAnotherDatabaseIsRefused) {
  Save(1);
  MustBackup(backups_);
  Open(directory_ / "another");
  Save(1);
  const Result<BackupReport> refused = Backup(backups_);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(Has(refused.status().message(), "is a backup of another database")) << refused.status().message();
}

TEST_F(BackupTest, APlaceThatWouldBeWrongIsRefused) {
  Save(1);
  const BackupReport backup = MustBackup(backups_);
  fs::create_directory_symlink(data_, directory_ / "link");
  const std::pair<std::string, std::string> cases[] = {
      {data_, "is in the data directory"},
      {data_ + "/backups", "is in the data directory"},
      {directory_ / "link/events", "is in the data directory"},
      {directory_ / "other/../data/", "is in the data directory"},
      {backup.path, "is itself a data directory or a backup"},
      {backup.path + "/events", "is itself a data directory or a backup"},
      {directory_ / "missing/backups", "cannot make the directory"},
      {backups_ + "/backup.lock/x", "cannot make the directory"},
  };
  for (const auto& [place, error] : cases) {
    const auto taken = BackupDirectory::Take(place, data_);
    ASSERT_FALSE(taken.ok()) << place;
    EXPECT_TRUE(Has(taken.status().message(), error)) << taken.status().message();
  }
}

TEST_F(BackupTest, TwoAtOnceAreRefused) {
  const auto first = BackupDirectory::Take(backups_, data_);
  ASSERT_TRUE(first.ok());
  const auto second = BackupDirectory::Take(backups_, data_);
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(Has(second.status().message(), "is under way, by process " + std::to_string(getpid())))
      << second.status().message();
}

TEST_F(BackupTest, KeepsTheNewestAndOneOnWhichARelayRuns) {
  Save(1);
  std::vector<std::string> paths;
  for (int i = 0; i < 4; ++i) paths.push_back(MustBackup(backups_).path);
  const auto served = LockFile::Take(paths[0] + "/events");
  ASSERT_TRUE(served.ok());
  const auto taken = BackupDirectory::Take(backups_, data_);
  EXPECT_EQ(taken.value()->Keep(2).value(), 1U);
  EXPECT_EQ(BackupsIn(backups_), (std::vector<std::string>{paths[0], paths[2], paths[3]}));
}

TEST_F(BackupTest, ARemovalThatWasKilledIsFinished) {
  Save(1);
  const BackupReport report = MustBackup(backups_);
  fs::rename(report.path, report.path + ".gone");
  EXPECT_TRUE(BackupsIn(backups_).empty());
  ASSERT_TRUE(BackupDirectory::Take(backups_, data_).ok());
  EXPECT_EQ(NamesIn(backups_), std::vector<std::string>{"backup.lock"});
}

TEST_F(BackupTest, NamesGrowEvenIfTheClockGoesBack) {
  Save(1);
  const std::string first = MustBackup(backups_).path;
  now_seconds_ -= 1000;
  EXPECT_GT(MustBackup(backups_).path, first);
}

TEST_F(BackupTest, AFileThatCannotBeCopiedLeavesNothingBehind) {
  Save(10);
  const auto taken = BackupDirectory::Take(backups_, data_);
  BackupOrder order = Order();
  order.after_piece = [](uint64_t) { return Status::Error("no more"); };
  EXPECT_EQ(taken.value()->Make(order).status().message(), "no more");
  EXPECT_EQ(NamesIn(backups_), std::vector<std::string>{"backup.lock"});
}

TEST_F(BackupTest, AnOlderWeirRefusesABackupOfANewerFormatAndAnyRocksDbOpensIt) {
  Save(10);
  const std::string events = MustBackup(backups_).path + "/events";
  std::string options;
  ASSERT_TRUE(rocksdb::GetLatestOptionsFileName(events, rocksdb::Env::Default(), &options).ok());
  std::string text = TextOf(events + "/" + options);
  const std::string version = "rocksdb_version=" + rocksdb::GetRocksVersionAsString();
  ASSERT_TRUE(Has(text, version));
  WriteText(events + "/" + options, text.replace(text.find(version), version.size(), "rocksdb_version=99.1.0"));
  ExpectWhole(events + "/..");
  {
    const auto newer = MustOpen(SmallStore(events));
    EXPECT_EQ(StoredIds(*newer), StoredIds(*store_));
    ASSERT_TRUE(newer->db()->Put({}, newer->families()[0], ToSlice(kFormatKey), std::to_string(kStoreFormat + 1)).ok());
  }
  const auto refused = RocksDbStore::Open(SmallStore(events));
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(Has(refused.status().message(), "was written by a newer weir")) << refused.status().message();
}

// Runs `say` in a child process, which has a small disk of its own at `disk`, and returns its result.
std::string OnSmallDisk(const std::string& disk, const std::function<std::string()>& say) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    setenv(kPrivateDisk, disk.c_str(), 1);
    const std::string said = MountPrivateDisk() ? say() : "no private disk";
    const bool told = write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  std::string said(4096, '\0');
  said.resize(static_cast<size_t>(std::max<ssize_t>(0, read(ends[0], said.data(), said.size()))));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return said;
}

TEST_F(BackupTest, ADiskThatGetsFullLeavesNothingBehind) {
  for (int i = 0; i < 6; ++i) Save(1000);  // 12 MB
  const BackupOrder order = Order();
  const std::string disk = directory_ / "disk";
  fs::create_directory(disk);
  const std::string said = OnSmallDisk(disk, [&] {
    const auto taken = BackupDirectory::Take(disk, data_);
    BackupOrder filling = order;
    filling.after_piece = [&](uint64_t) {
      std::ofstream ballast(disk + "/ballast", std::ios::app);
      while (ballast << std::string(1024, 'x') << std::flush) {
      }
      return Status();
    };
    const std::string full = taken.value()->Make(filling).status().message();
    const std::string small = taken.value()->Make(order).status().message();
    return full + "\n" + small + "\n" + std::to_string(NamesIn(disk).size());
  });
  if (said == "no private disk") GTEST_SKIP() << "may not mount a small disk: no privileges";
  EXPECT_TRUE(Has(said, "No space left on device\nthe backup needs ")) << said;
  EXPECT_TRUE(Has(said, "remove old backups there (--keep), or name a larger disk\n2")) << said;
}

TEST_F(BackupTest, WhatAKilledBackupLeftMakesRoomForTheNext) {
  for (int i = 0; i < 6; ++i) Save(1000);  // 12 MB
  const BackupOrder order = Order();
  const std::string disk = directory_ / "disk";
  fs::create_directory(disk);
  const std::string said = OnSmallDisk(disk, [&] {
    const std::string left_over = disk + "/2026-01-01T000000Z.part/events";
    fs::create_directories(left_over);
    std::ofstream ballast(left_over + "/000001.sst");
    while (ballast << std::string(1024, 'x') << std::flush) {
    }
    ballast.close();
    const auto taken = BackupDirectory::Take(disk, data_);
    if (!taken.ok()) return taken.status().message();
    const Result<BackupReport> report = taken.value()->Make(order);
    return report.ok() ? std::to_string(NamesIn(disk).size()) : report.status().message();
  });
  if (said == "no private disk") GTEST_SKIP() << "may not mount a small disk: no privileges";
  EXPECT_EQ(said, "2") << "the backup and the lock file";
}

TEST_F(BackupTest, SaysThatItMayNotWrite) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  fs::create_directory(backups_);
  chmod(backups_.c_str(), 0755);
  chmod(directory_.path().c_str(), 0755);
  const std::string said = AsNobody(data_, [&] { return BackupDirectory::Take(backups_, data_).status().message(); });
  EXPECT_TRUE(Has(said, "backup.lock: Permission denied")) << said;
}

TEST_F(BackupTest, TheRelaysUserOwnsWhatRootMakes) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  Save(10);
  std::ofstream(data_ + "/standing") << "a snapshot";
  constexpr uid_t kUser = 65534;
  ASSERT_EQ(chown(data_.c_str(), kUser, kUser), 0);
  const BackupReport report = MustBackup(backups_);
  EXPECT_EQ(weir::TextOf(report.path + "/standing"), "a snapshot");
  for (const std::string& path :
       {report.path, report.path + "/standing", report.path + "/events", report.path + "/events/CURRENT"}) {
    struct stat found {};
    ASSERT_EQ(stat(path.c_str(), &found), 0) << path;
    EXPECT_EQ(found.st_uid, kUser) << path;
    EXPECT_EQ(found.st_mode & 0077, 0U) << path;
  }
}

}  // namespace
}  // namespace weir
