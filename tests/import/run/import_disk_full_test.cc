// An import onto a disk that gets full, and has room again: it waits, goes on, and nothing is lost.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "tests/fixtures/private_disk.h"
#include "tests/import/run/import_fixture.h"

namespace weir {
namespace {

class ImportDiskFull : public ImportFixture {
 protected:
  // Returns false in the process that was asked to run the test: another one has run it, on a disk of its own.
  bool OnPrivateDisk() {
    if (const char* disk = std::getenv(kPrivateDisk)) {
      disk_ = disk;
      return true;
    }
    const TempDirectory directory;
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    ImportChild child({std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name()},
                      ImportChild::Input::kNone, {{kPrivateDisk, directory.path()}});
    Judge(child.Wait());
    return false;
  }
  static void Judge(const Ran& run) {
    if (run.code == kNoPrivateDisk) GTEST_SKIP() << "may not mount a small disk: no privileges";
    EXPECT_EQ(run.code, 0) << run.out << run.err;
  }

  // Leaves this much room.
  void FillTheDisk(size_t room) {
    {
      std::ofstream ballast(disk_ + "/ballast");
      const std::string kib(1024, 'x');
      while (ballast << kib << std::flush) {
      }
    }
    std::filesystem::resize_file(disk_ + "/ballast", std::filesystem::file_size(disk_ + "/ballast") - room);
  }

  std::string disk_;
};

TEST_F(ImportDiskFull, WaitsForRoomAndGoesOn) {
  if (!OnPrivateDisk()) return;
  FillTheDisk(5 << 20);
  // 8 MB that hardly compress, and lines that are rejected.
  std::string lines;
  for (uint64_t i = 0; i < 1600; ++i) lines += Note(i, 5000) + "\nbad " + std::to_string(i) + "\n";
  WriteText(file("events.jsonl"), lines);
  const std::string data = disk_ + "/data";
  ImportChild child({"--data-dir", data, "--no-verify", "--summary=json", file("events.jsonl")},
                    ImportChild::Input::kNone,
                    {{kImportChild, "1"},
                     {"WEIR_RATE_LIMIT_TARGET_MEMORY_MB", "256"},  // for small buffers of the database
                     {"WEIR_RATE_LIMIT_ENABLED", "false"}});       // a sanitizer alone needs more memory than that
  ASSERT_TRUE(Eventually([&] { return child.err().find("waiting: ") != std::string::npos; })) << child.err();
  EXPECT_NE(child.err().find("No space left on device"), std::string::npos) << child.err();
  std::filesystem::remove(disk_ + "/ballast");
  const Ran run = child.Wait();
  ASSERT_EQ(run.code, 1) << run.err;
  EXPECT_EQ(Count(Summary(run), "imported"), 1600U);
  const std::string rejected = TextOf(data + "/import/rejects.tsv");
  EXPECT_EQ(std::count(rejected.begin(), rejected.end(), '\n'), 1600);
  const auto store = MustOpen(SmallStore(data + "/events"));
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(StoredIds(*store).size(), 1600U);
}

// The events have room on another disk.
TEST_F(ImportDiskFull, WaitsForRoomForTheRejects) {
  if (!OnPrivateDisk()) return;
  FillTheDisk(300 << 10);
  std::string lines;
  for (uint64_t i = 0; i < 600; ++i) lines += Note(i) + "\nbad " + std::to_string(i) + std::string(2000, 'x') + "\n";
  WriteText(file("events.jsonl"), lines);
  ImportChild child(
      {"--data-dir", data_dir(), "--rejects", disk_ + "/rejects.tsv", "--summary=json", file("events.jsonl")});
  ASSERT_TRUE(Eventually([&] {
    return child.err().find("waiting: cannot write the rejects file") != std::string::npos;
  })) << child.err();
  std::filesystem::remove(disk_ + "/ballast");
  const Ran run = child.Wait();
  ASSERT_EQ(run.code, 1) << run.err;
  EXPECT_EQ(Count(Summary(run), "imported"), 600U);
  std::string expected;
  for (uint64_t i = 0; i < 600; ++i) expected += "bad " + std::to_string(i) + std::string(2000, 'x') + "\n";
  std::string kept;
  std::istringstream in(TextOf(disk_ + "/rejects.tsv"));
  for (std::string line; std::getline(in, line);) kept += line.substr(line.rfind('\t') + 1) + "\n";
  EXPECT_TRUE(kept == expected);
  EXPECT_EQ(Stored().size(), 600U);
}

TEST_F(ImportDiskFull, AnImportStoppedWhileItWaitsDoesNotSayItGoesOn) {
  if (!OnPrivateDisk()) return;
  FillTheDisk(8 << 10);
  std::string lines;
  for (uint64_t i = 0; i < 30; ++i) lines += Note(i) + "\nbad " + std::string(2000, 'x') + "\n";
  WriteText(file("events.jsonl"), lines);
  ImportChild child({"--data-dir", data_dir(), "--rejects", disk_ + "/rejects.tsv", file("events.jsonl")});
  ASSERT_TRUE(Eventually([&] { return child.err().find("waiting: ") != std::string::npos; })) << child.err();
  child.Signal(SIGINT);
  const Ran run = child.Wait();
  EXPECT_EQ(run.code, 2) << run.err;
  EXPECT_EQ(run.err.find("goes on after"), std::string::npos) << run.err;
}

// Events and rejects have room on another disk.
class ImportCheckpointDiskFull : public ImportDiskFull {
 protected:
  void Begin() {
    std::filesystem::create_directories(data_dir());
    std::filesystem::create_directory_symlink(disk_, data_dir() + "/import");
    child_.emplace(std::vector<std::string>{"--data-dir", data_dir(), "--rejects", file("rejects.tsv"), "--quiet",
                                            "--summary=json", "--checkpoint-every=1", "-"},
                   ImportChild::Input::kPipe);
    ASSERT_TRUE(Eventually([this] { return HasCheckpoint(); })) << child_->err();
    FillTheDisk(0);
    for (uint64_t i = 0; child_->err().find("No space left on device") == std::string::npos; ++i) {
      ASSERT_LT(i, 1000U);
      sent_ += Notes(100 * i, 50) + "bad " + std::to_string(i) + "\n";
      ASSERT_TRUE(child_->Write(sent_.substr(written_)));
      written_ = sent_.size();
      ASSERT_TRUE(Eventually([this, i] { return RejectedIs(i + 1); })) << child_->err();
    }
    EXPECT_NE(child_->err().find("cannot write the checkpoint"), std::string::npos) << child_->err();
  }
  bool RejectedIs(uint64_t count) const {
    const std::string text = TextOf(file("rejects.tsv"));
    return static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')) == count;
  }

  std::optional<ImportChild> child_;
  std::string sent_;
  size_t written_ = 0;
};

TEST_F(ImportCheckpointDiskFull, GoesOnWithoutACheckpointAndEndsWell) {
  if (!OnPrivateDisk()) return;
  ASSERT_NO_FATAL_FAILURE(Begin());
  ASSERT_TRUE(child_->Write(Note(1'000'000) + "\n"));
  child_->EndInput();
  const Ran run = child_->Wait();
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_EQ(std::string_view(Summary(run)["checkpoint_problem"]), "");  // no checkpoint is needed
  EXPECT_FALSE(HasCheckpoint());
}

TEST_F(ImportCheckpointDiskFull, AStoppedImportSaysThatItGoesOnEarlierAndDoes) {
  if (!OnPrivateDisk()) return;
  ASSERT_NO_FATAL_FAILURE(Begin());
  child_->Signal(SIGINT);
  const Ran stopped = child_->Wait();
  EXPECT_EQ(stopped.code, 2) << stopped.err;
  EXPECT_NE(stopped.err.find("weir import: cannot write the checkpoint"), std::string::npos) << stopped.err;
  EXPECT_NE(std::string_view(Summary(stopped)["checkpoint_problem"]).find("No space left"), std::string::npos);
  std::filesystem::remove(disk_ + "/ballast");
  const std::string kept = TextOf(file("rejects.tsv"));
  const Ran run = ImportPiped(sent_, {"--rejects", file("rejects.tsv"), "--resume", "-"});
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_EQ(TextOf(file("rejects.tsv")), kept);
  EXPECT_EQ(Stored().size(), static_cast<size_t>(std::count(kept.begin(), kept.end(), '\n')) * 50);
}

}  // namespace
}  // namespace weir
