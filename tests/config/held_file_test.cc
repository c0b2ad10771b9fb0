#include "config/held_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

class HeldFileTest : public testing::Test {
 protected:
  using Outcome = HeldFile::Outcome;

  const TempDirectory directory_;
  const std::string path_ = directory_ / "file";
};

TEST_F(HeldFileTest, IsHeldByOneUntilItIsClosed) {
  HeldFile first;
  HeldFile second;
  ASSERT_EQ(first.Open(path_), Outcome::kHeld);
  EXPECT_TRUE(first.made());
  EXPECT_EQ(second.Open(path_), Outcome::kInUse);
  EXPECT_FALSE(second.is_open());
  HeldFile moved = std::move(first);
  EXPECT_EQ(second.Open(path_), Outcome::kInUse);
  moved.Close();
  EXPECT_EQ(second.Open(path_), Outcome::kHeld);
  EXPECT_FALSE(second.made());
}

TEST_F(HeldFileTest, NamesTheHolderWhileTheFileIsHeld) {
  HeldFile file;
  ASSERT_EQ(file.Open(path_), Outcome::kHeld);
  file.Say("12 weir relay and more\nhttp://127.0.0.1:1\n");
  file.Say("7 weir gate\n");
  const auto holder = FindHolder(path_);
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(Describe(*holder), "process 7 (weir gate)");
  EXPECT_EQ(holder->address, "");
  file.Say("");
  EXPECT_EQ(Describe(FindHolder(path_).value()), "another process");
  file.Close();
  EXPECT_FALSE(FindHolder(path_).has_value());
  EXPECT_FALSE(FindHolder(directory_ / "missing").has_value());
}

TEST_F(HeldFileTest, OpenKeepsTheContentAndRemoveDeletesTheFile) {
  WriteText(path_, "before\n");
  HeldFile file;
  ASSERT_EQ(file.Open(path_), Outcome::kHeld);
  EXPECT_EQ(std::filesystem::file_size(path_), 7u);
  file.Remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(HeldFileTest, ADeviceMayBeHeldTwice) {
  HeldFile first;
  HeldFile second;
  EXPECT_EQ(first.Open("/dev/null"), Outcome::kHeld);
  EXPECT_EQ(second.Open("/dev/null"), Outcome::kHeld);
}

TEST_F(HeldFileTest, AFailureToOpenSetsErrno) {
  HeldFile file;
  errno = 0;
  EXPECT_EQ(file.Open(directory_ / "no/such"), Outcome::kFailed);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(HeldFileTest, ALinkIsFollowedUnlessItIsRefused) {
  std::filesystem::create_symlink(directory_ / "elsewhere", path_);
  HeldFile file;
  EXPECT_EQ(file.Open(path_, HeldFile::Links::kRefuse), Outcome::kFailed);
  EXPECT_EQ(errno, ELOOP);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "elsewhere"));
  EXPECT_EQ(file.Open(path_), Outcome::kHeld);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "elsewhere"));
}

}  // namespace
}  // namespace weir
