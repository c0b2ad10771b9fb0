#include "relay/doctor/directory_facts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fixtures/as_nobody.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

TEST(DoctorDirectory, IsMeasuredAndLeftAsItWas) {
  const TempDirectory directory;
  ASSERT_EQ(chmod(directory.path().c_str(), 0750), 0);
  std::vector<std::string> unseen;
  const DirectoryFacts facts = LookAtDirectory(directory.path(), "the events", true, &unseen);
  EXPECT_TRUE(unseen.empty());
  EXPECT_TRUE(facts.exists);
  EXPECT_EQ(facts.others, 0050);
  EXPECT_GT(facts.bytes, facts.free_bytes);
  EXPECT_GT(facts.free_bytes, 0);
  ASSERT_TRUE(facts.syncs);
  EXPECT_GT(facts.syncs->count, 0);
  EXPECT_GT(facts.syncs->median.count(), 0);
  EXPECT_GE(facts.syncs->worst, facts.syncs->median);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(DoctorDirectory, ADirectoryYetToBeMadeIsNotMade) {
  const TempDirectory directory;
  std::vector<std::string> unseen;
  const DirectoryFacts facts = LookAtDirectory(directory / "a/b/data", "the events", true, &unseen);
  EXPECT_FALSE(facts.exists);
  EXPECT_EQ(facts.others, 0);
  EXPECT_GT(facts.free_bytes, 0);
  EXPECT_TRUE(facts.syncs);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(DoctorDirectory, SaysThatItCannotMeasureAReadOnlyDirectory) {
  const TempDirectory directory;
  const std::string said = AsNobody(directory.path(), [&] {
    if (chmod(directory.path().c_str(), 0500) != 0) return std::string("cannot be closed");
    std::vector<std::string> unseen;
    const DirectoryFacts facts = LookAtDirectory(directory.path(), "the events", true, &unseen);
    chmod(directory.path().c_str(), 0700);
    return (facts.syncs ? "measured; " : "not measured; ") + (unseen.size() == 1 ? unseen[0] : "nothing said");
  });
  EXPECT_EQ(said, "not measured; how long an fsync takes in " + directory.path() +
                      ": Permission denied; run this as the user of the relay, or as root");
}

TEST(DoctorDirectory, ReportsAFileInItsPlace) {
  const TempDirectory directory;
  std::ofstream(directory / "data") << "x";
  std::vector<std::string> unseen;
  EXPECT_TRUE(LookAtDirectory(directory / "data", "the events", true, &unseen).is_file);
  EXPECT_TRUE(LookAtDirectory(directory / "data/below", "the events", true, &unseen).is_file);
}

TEST(DoctorDirectory, IsClosedIfADirectoryAboveItIsClosed) {
  const TempDirectory directory;
  ASSERT_EQ(chmod(directory.path().c_str(), 0755), 0);
  ASSERT_EQ(mkdir((directory / "above").c_str(), 0700), 0);
  ASSERT_EQ(mkdir((directory / "above/data").c_str(), 0755), 0);
  std::vector<std::string> unseen;
  EXPECT_EQ(LookAtDirectory(directory / "above/data", "the events", false, &unseen).others, 0);
  ASSERT_EQ(chmod((directory / "above").c_str(), 0711), 0);
  EXPECT_EQ(LookAtDirectory(directory / "above/data", "the events", false, &unseen).others, 0055);
}

TEST(DoctorDirectory, InMemoryIsKnown) {
  std::vector<std::string> unseen;
  const DirectoryFacts facts = LookAtDirectory("/dev/shm", "the events", false, &unseen);
  if (!facts.exists || facts.file_system.empty()) GTEST_SKIP() << "/dev/shm is no tmpfs here";
  EXPECT_EQ(facts.file_system, "tmpfs");
  EXPECT_FALSE(facts.syncs);
}

}  // namespace
}  // namespace weir
