// A backup whose path was printed is on disk, and one that is killed is taken up.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "bench/measure/process.h"
#include "bench/relay/launch.h"
#include "relay/nostr/signature.h"
#include "tests/durability/crash_image.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

std::string WeirWith(const std::string& words) { return std::string(WEIR_PROGRAM) + " " + words; }

// A database on another file system than the backups, so that these are copies.
class BackupDurability : public testing::Test {
 protected:
  void SetUp() override {
    struct stat own {};
    struct stat other {};
    if (stat(log_.path().c_str(), &own) != 0 || stat("/dev/shm", &other) != 0 || own.st_dev == other.st_dev)
      GTEST_SKIP() << "/dev/shm is not another file system";
    char name[] = "/dev/shm/weir-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    base_ = name;
    data_ = base_ + "/data";
  }
  ~BackupDurability() override {
    if (!base_.empty()) fs::remove_all(base_);
  }

  // Imports as many new notes, of 20 KB that hardly compress.
  void Import(int notes) {
    const std::string file = base_ + "/events.jsonl";
    {
      static const Signer kSigner(5);
      std::ofstream lines(file);
      for (int i = 0; i < notes; ++i) {
        std::string text = std::to_string(++number_);
        while (text.size() < 20'000) text += ToHex(Sha256(text));
        lines << kSigner.SignedEvent(1'700'000'000 + number_, 1, "[]", text) << "\n";
      }
    }
    const CommandResult imported = RunCommand(WeirWith("import --quiet --no-verify --data-dir " + data_ + " " + file));
    ASSERT_EQ(imported.code, 0) << imported.out;
  }
  std::string Backup(const std::string& directory) const {
    return WeirWith("backup " + directory + " --data-dir " + data_);
  }
  void ExpectSound(const fs::path& backups) const {
    const CommandResult checked = RunCommand(WeirWith("check " + backups.string()));
    EXPECT_EQ(checked.code, 0) << checked.out;
    EXPECT_NE(checked.out.find(std::to_string(number_) + " events"), std::string::npos) << checked.out;
  }
  static size_t FilesIn(const fs::path& directory, const std::string& extension) {
    size_t count = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator file(directory, error), end; !error && file != end; file.increment(error))
      if (file->path().extension() == extension) ++count;
    return count;
  }

  const TempDirectory log_;
  std::string base_;
  std::string data_;
  uint64_t number_ = 0;
};

TEST_F(BackupDurability, ABackupWhosePathWasPrintedIsOnDisk) {
  PowerCut power;
  const std::string backups = (power.data() / "backups").string();
  for (int round = 0; round < 2; ++round) {
    Import(50);
    const CommandResult made = RunCommand("env " + power.environment() + Backup(backups));
    ASSERT_EQ(made.code, 0) << made.out;
    power.Crash();
    ExpectSound(backups);
  }
}

TEST_F(BackupDurability, ABackupThatIsKilledBesideARelayIsTakenUp) {
  Import(2000);
  auto relay =
      Launch("exec env WEIR_PORT={port} WEIR_DATA_DIR={db} " + WeirWith("relay"), log_.path(), data_, std::nullopt);
  ASSERT_TRUE(relay.ok()) << relay.status().message();
  const std::string backups = log_ / "backups";
  bool killed = false;
  for (int tries = 0; tries < 50 && !killed; ++tries) {
    fs::remove_all(backups);
    const auto backup = std::move(Process::Start("exec " + Backup(backups), log_ / "log")).value();
    ASSERT_TRUE(Eventually([&] { return FilesIn(backups, ".sst") > 1 || backup->Ended(); }));
    backup->Kill();
    for (const auto& entry : fs::directory_iterator(backups)) killed = killed || entry.path().extension() == ".part";
  }
  ASSERT_TRUE(killed) << "each backup was faster than the kill";
  EXPECT_TRUE(fs::exists(data_ + "/events/checkpoint"));
  const CommandResult made = RunCommand(Backup(backups));
  ASSERT_EQ(made.code, 0) << made.out;
  EXPECT_NE(made.out.find("are in the backup before, too"), std::string::npos) << made.out;
  EXPECT_EQ(FilesIn(backups, ".part"), 0U);
  EXPECT_FALSE(fs::exists(data_ + "/events/checkpoint"));
  ExpectSound(backups);
}

// The relay ends while a backup copies, and another one starts and ends. The copying goes on.
TEST_F(BackupDurability, ABackupGoesOnThoughTheRelayEnds) {
  Import(2000);
  const std::string command = "exec env WEIR_PORT={port} WEIR_DATA_DIR={db} " + WeirWith("relay");
  auto relay = Launch(command, log_.path(), data_, std::nullopt);
  ASSERT_TRUE(relay.ok()) << relay.status().message();
  const std::string backups = log_ / "backups";
  const auto backup = std::move(Process::Start("exec " + Backup(backups), log_ / "log")).value();
  ASSERT_TRUE(Eventually([&] { return FilesIn(backups, ".sst") > 0 || backup->Ended(); }));
  ASSERT_TRUE(relay.value().process->Stop().ok());
  relay = Launch(command, log_.path(), data_, std::nullopt);
  ASSERT_TRUE(relay.ok()) << relay.status().message();
  ASSERT_TRUE(backup->Wait().ok());
  EXPECT_EQ(FilesIn(backups, ".part"), 0U) << weir::TextOf(log_ / "log");
  ExpectSound(backups);
}

}  // namespace
}  // namespace weir
