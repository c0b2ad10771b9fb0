#include "relay/upkeep/table_files.h"

#include <gtest/gtest.h>

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
  const Status copied = CopyFile(from, directory / "to", [&](uint64_t piece) {
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
  EXPECT_EQ(CopyFile(from, directory / "to", [](uint64_t) { return Status::Error("stop"); }).message(), "stop");
  EXPECT_FALSE(std::filesystem::exists(directory / "to.part"));
  EXPECT_TRUE(Has(CopyFile(directory / "none", directory / "to", kGoOn).message(), "none: No such file or directory"));
  EXPECT_TRUE(Has(CopyFile(from, directory / "none/to", kGoOn).message(), "cannot write"));
}

}  // namespace
}  // namespace weir
