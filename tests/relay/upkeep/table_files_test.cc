#include "relay/upkeep/table_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

const AfterPiece kGoOn = [](uint64_t) { return Status(); };

TEST(TableFiles, AreTheSameIfSizeAndEndAre) {
  const TempDirectory directory;
  const std::string body(100'000, 'b');
  const std::string table = directory.Write("table", body + "end of one table");
  EXPECT_TRUE(IsSameTable(table, directory.Write("copy", body + "end of one table")));
  EXPECT_FALSE(IsSameTable(table, directory.Write("other", body + "end of 1st table")));
  EXPECT_FALSE(IsSameTable(table, directory.Write("longer", body + "xend of one table")));
  EXPECT_FALSE(IsSameTable(table, directory / "missing"));
  EXPECT_TRUE(IsSameTable(directory.Write("a", ""), directory.Write("b", "")));
}

TEST(TableFiles, CopiesAllBytesInPieces) {
  const TempDirectory directory;
  std::string text;
  for (int i = 0; text.size() < 2'500'000; ++i) text += std::to_string(i) + " ";
  const std::string from = directory.Write("from", text);
  uint64_t bytes = 0;
  int pieces = 0;
  const Status copied = CopyFile(from, directory / "to", from, [&](uint64_t piece) {
    EXPECT_FALSE(std::filesystem::exists(directory / "to")) << "not before it is whole";
    bytes += piece;
    ++pieces;
    return Status();
  });
  ASSERT_TRUE(copied.ok()) << copied.message();
  EXPECT_EQ(TextOf(directory / "to"), text);
  EXPECT_EQ(bytes, text.size());
  EXPECT_EQ(pieces, 3);
  EXPECT_FALSE(std::filesystem::exists(directory / "to.part"));
}

TEST(TableFiles, LeavesNoPartBehind) {
  const TempDirectory directory;
  const std::string from = directory.Write("from", "text");
  EXPECT_EQ(CopyFile(from, directory / "to", from, [](uint64_t) { return Status::Error("stop"); }).message(), "stop");
  EXPECT_FALSE(std::filesystem::exists(directory / "to.part"));
  EXPECT_TRUE(
      Has(CopyFile(directory / "none", directory / "to", from, kGoOn).message(), "none: No such file or directory"));
  EXPECT_TRUE(Has(CopyFile(from, directory / "none/to", from, kGoOn).message(), "cannot write"));
}

TEST(TableFiles, ALinkThatLeadsElsewhereIsNotCopied) {
  const TempDirectory directory;
  const std::string from = directory.Write("from", "text");
  std::filesystem::create_symlink(from, directory / "link");
  EXPECT_TRUE(Has(CopyFile(directory / "link", directory / "to", from, kGoOn).message(), "cannot read"));
  ASSERT_EQ(mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(Has(CopyFile(directory / "pipe", directory / "to", from, kGoOn).message(), "is no file that the owner"));
  std::filesystem::create_symlink(directory / "elsewhere", directory / "to.part");
  EXPECT_TRUE(Has(CopyFile(from, directory / "to", from, kGoOn).message(), "cannot write"));
  EXPECT_FALSE(std::filesystem::exists(directory / "elsewhere"));
}

TEST(TableFiles, RootGivesNobodyWhatOnlyRootMayRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const TempDirectory directory;
  const std::string model = directory.Write("model", "");
  ASSERT_EQ(chown(model.c_str(), 65534, 65534), 0);
  const std::string from = directory.Write("from", "text");
  ASSERT_EQ(chmod(from.c_str(), 0600), 0);
  EXPECT_TRUE(Has(CopyFile(from, directory / "to", model, kGoOn).message(), "is no file that the owner of"));
  EXPECT_FALSE(std::filesystem::exists(directory / "to"));
  ASSERT_EQ(chmod(from.c_str(), 0644), 0);
  EXPECT_TRUE(CopyFile(from, directory / "to", model, kGoOn).ok());
  struct stat copy {};
  ASSERT_EQ(stat((directory / "to").c_str(), &copy), 0);
  EXPECT_EQ(copy.st_uid, 65534U);
  EXPECT_EQ(copy.st_mode & 0077, 0U);
}

}  // namespace
}  // namespace weir
