// An import onto a disk that gets full, and has room again: it waits, goes on, and nothing is lost.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/import_ops/import_fixture.h"
#include "tests/store/private_disk.h"

namespace weir {
namespace {

class ImportDiskFull : public ImportFixture {
 protected:
  // False in the process that was asked to run the test: it has let another one do it, on a disk of its own.
  bool OnPrivateDisk() {
    if (const char* disk = std::getenv(kPrivateDisk)) {
      disk_ = disk;
      return true;
    }
    const TempDirectory directory;
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    ImportChild child({std::string("--gtest_filter=ImportDiskFull.") + test.name()}, ImportChild::Input::kNone,
                      {{kPrivateDisk, directory.path()}});
    Judge(child.Wait());
    return false;
  }
  static void Judge(const Ran& run) {
    if (run.code == kNoPrivateDisk) GTEST_SKIP() << "may not mount a small disk: no privileges";
    EXPECT_EQ(run.code, 0) << run.out << run.err;
  }

  // Room for this much is left.
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
  // 8 MB that do not compress to nothing, and lines that are rejected.
  std::string lines;
  for (uint64_t i = 0; i < 1600; ++i) lines += Note(i, 5000) + "\nbad " + std::to_string(i) + "\n";
  WriteAll(file("events.jsonl"), lines);
  const std::string data = disk_ + "/data";
  ImportChild child({"--data-dir", data, "--no-verify", "--summary=json", file("events.jsonl")},
                    ImportChild::Input::kNone, {{kImportChild, "1"}, {"WEIR_RATE_LIMIT_TARGET_MEMORY_MB", "256"}});
  ASSERT_TRUE(Eventually([&] { return child.err().find("waiting: ") != std::string::npos; })) << child.err();
  EXPECT_NE(child.err().find("No space left on device"), std::string::npos) << child.err();
  std::filesystem::remove(disk_ + "/ballast");
  const Ran run = child.Wait();
  ASSERT_EQ(run.code, 1) << run.err;
  EXPECT_NE(run.err.find("import: goes on after "), std::string::npos) << run.err;
  EXPECT_EQ(Count(Summary(run), "imported"), 1600U);
  const std::string rejected = ReadAll(data + "/import/rejects.tsv");
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
  WriteAll(file("events.jsonl"), lines);
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
  std::istringstream in(ReadAll(disk_ + "/rejects.tsv"));
  for (std::string line; std::getline(in, line);) kept += line.substr(line.rfind('\t') + 1) + "\n";
  EXPECT_TRUE(kept == expected);
  EXPECT_EQ(Stored().size(), 600U);
}

}  // namespace
}  // namespace weir
