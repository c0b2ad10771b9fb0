// A database, and backups of it in a directory.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "relay/nostr/signature.h"
#include "relay/store/database_checkpoint.h"
#include "relay/store/store_check.h"
#include "relay/upkeep/backup_directory.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {

inline uint64_t InodeOf(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

inline std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

// Returns the names of the tables in the directory.
inline std::vector<std::string> TablesIn(const std::string& directory) {
  std::vector<std::string> names = NamesIn(directory);
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".sst"); });
  return names;
}

class BackupTest : public testing::Test {
 protected:
  BackupTest() { Open(data_); }

  void Open(const std::string& data) {
    store_.reset();
    std::filesystem::create_directories(data);
    store_ = MustOpen(SmallStore(data + "/events"));
    open_ = data;
  }
  // Saves as many new notes of 2 KB, and puts them into tables.
  void Save(int notes) { SaveInto(*store_, notes); }
  void SaveInto(RocksDbStore& store, int notes) {
    std::vector<PlainEvent> events;
    for (int i = 0; i < notes; ++i) {
      std::string text;
      for (int part = 0; part < 32; ++part) text += ToHex(Sha256(std::to_string(number_) + " " + std::to_string(part)));
      events.push_back(Plain(Author(1), ++number_, 1, {{"t", "a"}}, text));
    }
    SaveAll(store, events);
    EXPECT_TRUE(store.Flush().ok());
  }

  // Makes a checkpoint of the open database. Returns its directory.
  std::string Checkpoint() {
    std::string checkpoint = open_ + "/events/checkpoint";
    EXPECT_TRUE(RemoveCheckpoint(checkpoint).ok());
    const Status made = MakeCheckpoint(store_->db(), checkpoint);
    EXPECT_TRUE(made.ok()) << made.message();
    return checkpoint;
  }
  BackupOrder Order() {
    return {.data_dir = open_, .checkpoint = Checkpoint(), .now_seconds = ++now_seconds_, .after_piece = [](uint64_t) {
              return Status();
            }};
  }
  Result<BackupReport> Backup(const std::string& directory) {
    Result<std::unique_ptr<BackupDirectory>> taken = BackupDirectory::Take(directory, open_);
    if (!taken.ok()) return taken.status();
    return taken.value()->Make(Order());
  }
  BackupReport MustBackup(const std::string& directory) {
    Result<BackupReport> report = Backup(directory);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? report.value() : BackupReport();
  }

  // Expects the backup to be sound, and to have the same events as the open database.
  void ExpectWhole(const std::string& backup) {
    StoreOptions options = SmallStore(backup + "/events");
    options.read_only = true;
    const auto copy = MustOpen(options);
    ASSERT_NE(copy, nullptr);
    const Result<CheckReport> report = CheckStore(*copy);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report.value().clean()) << weir::ToText(report.value());
    EXPECT_EQ(StoredIds(*copy), StoredIds(*store_));
  }

  const TempDirectory directory_;
  const std::string data_ = directory_ / "data";
  const std::string backups_ = directory_ / "backups";
  std::string open_;  // the data directory of store_
  std::unique_ptr<RocksDbStore> store_;
  uint64_t now_seconds_ = 1'800'000'000;
  uint64_t number_ = 0;
};

}  // namespace weir
