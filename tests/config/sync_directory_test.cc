#include "config/sync_directory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

TEST(MakeDirectories, MakesMissingParents) {
  const TempDirectory directory;
  EXPECT_FALSE(MakeDirectories(directory / "a/b/c"));
  EXPECT_TRUE(std::filesystem::is_directory(directory / "a/b/c"));
  EXPECT_FALSE(MakeDirectories(directory / "a/b/c/")) << "it is there, and a slash changes nothing";
  EXPECT_FALSE(MakeDirectories(directory / "a/d/"));
  EXPECT_TRUE(std::filesystem::is_directory(directory / "a/d"));
}

TEST(MakeDirectories, ReportsAFileInTheWay) {
  const TempDirectory directory;
  WriteText(directory / "file", "");
  EXPECT_EQ(MakeDirectories(directory / "file/a"), std::errc::not_a_directory);
}

}  // namespace
}  // namespace weir
