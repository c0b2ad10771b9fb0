#include "config/replace_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

TEST(ReplaceFile, HasTheNewTextAndTheModeOfBefore) {
  const TempDirectory directory;
  const std::string path = directory / "file";
  ASSERT_TRUE(ReplaceFile(path, "one"));
  EXPECT_EQ(TextOf(path), "one");
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  WriteText(path + ".new", "left by one that was killed");
  ASSERT_TRUE(ReplaceFile(path, std::string(100'000, 'x')));
  EXPECT_EQ(TextOf(path), std::string(100'000, 'x'));
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST(ReplaceFile, TakesTheTextInPieces) {
  const TempDirectory directory;
  const std::string path = directory / "file";
  const std::string pieces[] = {"one ", std::string(100'000, 'x'), " three", ""};
  size_t next = 0;
  ASSERT_TRUE(ReplaceFile(path, [&]() -> std::string_view { return pieces[next++]; }));
  EXPECT_EQ(TextOf(path), pieces[0] + pieces[1] + pieces[2]);
  EXPECT_EQ(next, 4U);
  ASSERT_TRUE(ReplaceFile(path, ""));
  EXPECT_EQ(TextOf(path), "");
}

TEST(ReplaceFile, AFailureLeavesTheFormerFile) {
  const TempDirectory directory;
  EXPECT_FALSE(ReplaceFile(directory / "no/such", "x"));
  EXPECT_EQ(errno, ENOENT);
  const std::string taken = directory / "taken";
  std::filesystem::create_directories(taken + "/inner");
  EXPECT_FALSE(ReplaceFile(taken, "x")) << "a directory is no file";
  EXPECT_TRUE(std::filesystem::exists(taken + "/inner"));
  EXPECT_FALSE(std::filesystem::exists(taken + ".new"));
}

}  // namespace
}  // namespace weir
