#include "import/run/rejects_file.h"

#include <gtest/gtest.h>

#include "tests/fixtures/file_size_limit.h"
#include "tests/import/run/import_child.h"

namespace weir {
namespace {

using std::string_literals::operator""s;

// Returns a chunk with these lines, all rejected for the same reason.
SettledChunk Lines(const std::vector<std::string>& lines, uint64_t first_line, const std::string& reason = "bad") {
  SettledChunk settled;
  for (const std::string& line : lines) {
    settled.rejects.push_back({.line = first_line++,
                               .begin = settled.chunk.text.size(),
                               .size = line.size(),
                               .outcome = LineOutcome::kInvalid,
                               .reason = reason});
    settled.chunk.text += line + "\n";
  }
  return settled;
}

SettledChunk Piece(const std::string& text, bool first, bool last) {
  SettledChunk settled;
  settled.chunk.kind = Chunk::Kind::kTooLong;
  settled.chunk.text = text;
  settled.chunk.first_piece = first;
  settled.chunk.last_piece = last;
  if (first)
    settled.rejects.push_back({.line = 5, .size = text.size(), .outcome = LineOutcome::kTooLong, .reason = "long"});
  return settled;
}

class RejectsFileTest : public testing::Test {
 protected:
  std::string path() const { return directory_ / "rejects.tsv"; }
  std::string contents() const { return TextOf(path()); }
  // Rejects a line of `input`, as an import that then ends. Returns the import's mark.
  std::string Reject(const std::string& input) const {
    RejectsFile file(path());
    file.Add(Lines({"x"}, 1), input);
    EXPECT_TRUE(file.Write().ok());
    return file.mark();
  }

  TempDirectory directory_;
};

TEST_F(RejectsFileTest, RemovesItsFileIfNoLineWasRejected) {
  {
    RejectsFile file(path());
    EXPECT_TRUE(file.Open().ok());
    file.Add(Lines({}, 1), "a");
    EXPECT_TRUE(file.Write().ok());
    EXPECT_TRUE(file.Sync().ok());
    EXPECT_EQ(file.bytes(), 0U);
  }
  EXPECT_FALSE(std::filesystem::exists(path()));
  WriteText(path(), "");  // another program made it
  { EXPECT_TRUE(RejectsFile(path()).Open().ok()); }
  EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(RejectsFileTest, KeepsTheBytesOfALineAsTheyWere) {
  RejectsFile file(path());
  file.Add(Lines({"{\t\"a\"\0\r\xff"s, ""}, 17), "a.jsonl");
  ASSERT_TRUE(file.Write().ok());
  EXPECT_EQ(contents(), "a.jsonl:17\tbad\t{\t\"a\"\0\r\xff\na.jsonl:18\tbad\t\n"s);
  EXPECT_EQ(file.bytes(), contents().size());
}

TEST_F(RejectsFileTest, NamesAndReasonsStayOnOneLine) {
  RejectsFile file(path());
  file.Add(Lines({"x"}, 1, "a\tb\nc"), "odd\tname\n");
  ASSERT_TRUE(file.Write().ok());
  EXPECT_EQ(contents(), "odd\\x09name\\x0a:1\ta\\x09b\\x0ac\tx\n");
}

TEST_F(RejectsFileTest, ALongLineComesInPieces) {
  RejectsFile file(path());
  for (const auto& piece : {Piece("aaa", true, false), Piece("bbb", false, false), Piece("ccc\n", false, true)}) {
    file.Add(piece, "f");
    ASSERT_TRUE(file.Write().ok());
  }
  file.Add(Piece("only", true, true), "f");  // the last of a file, without line feed
  ASSERT_TRUE(file.Write().ok());
  EXPECT_EQ(contents(), "f:5\tlong\taaabbbccc\nf:5\tlong\tonly\n");
}

TEST_F(RejectsFileTest, AppendsToWhatIsThereAndEndsAPartOfALine) {
  WriteText(path(), "old:1\tbad\tx\nold:2\tb");
  RejectsFile file(path());
  EXPECT_EQ(file.bytes(), 19U);
  file.Add(Lines({"y"}, 1), "new");
  ASSERT_TRUE(file.Write().ok());
  EXPECT_EQ(contents(), "old:1\tbad\tx\nold:2\tb\nnew:1\tbad\ty\n");
  EXPECT_EQ(file.bytes(), contents().size());
}

TEST_F(RejectsFileTest, TwoImportsDoNotWriteAtOnce) {
  RejectsFile first(path());
  first.Add(Lines({"x"}, 1), "a");
  ASSERT_TRUE(first.Write().ok());
  const std::string before = contents();
  RejectsFile second(path());
  const std::vector<std::string> inputs = {"a"};
  second.Add(Lines({"y"}, 1), "b");
  for (const Status& status : {second.Open(), second.Write(), second.CutBack(0, first.mark(), inputs)}) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.message().find("another import writes"), std::string::npos) << status.message();
  }
  EXPECT_EQ(contents(), before);
}

TEST_F(RejectsFileTest, SeveralProgramsMayWriteToADevice) {
  RejectsFile first("/dev/null");
  ASSERT_TRUE(first.Open().ok());
  RejectsFile second("/dev/null");
  EXPECT_TRUE(second.Open().ok());
}

TEST_F(RejectsFileTest, WritesOnceTheImportBeforeItHasEnded) {
  RejectsFile second(path());
  {
    RejectsFile first(path());
    first.Add(Lines({"x"}, 1), "a");
    ASSERT_TRUE(first.Write().ok());
    second.Add(Lines({"y"}, 1), "b");
    ASSERT_FALSE(second.Write().ok());
  }
  ASSERT_TRUE(second.Write().ok());
  EXPECT_EQ(contents(), "a:1\tbad\tx\nb:1\tbad\ty\n");
}

TEST_F(RejectsFileTest, CutsBackWhatTheSameInputsWrote) {
  if (!directory_.has_user_attributes()) GTEST_SKIP() << "the file system has no extended attributes of users";
  const std::string before = "b:9\tbad\tx\n";
  struct Case {
    std::string rest;
    bool cut;
  };
  const Case cases[] = {
      {"a:1\tbad\tx\n", true},
      {"a:1\tbad\tx\nb:2\tbad\ty\n", true},
      {"a:1\tbad\tx\nb", true},  // killed within the name
      {"a:1\tbad", true},
      {"a:1\tbad\t" + std::string(200'000, 'z') + "\nb:7\tbad\t" + std::string(200'000, 'z'), true},
      {"\na:1\tbad\tx\n", true},  // after an entry that was cut off
      {"\n", true},
      {"\n\na:1\tbad\tx\n", false},
      {"a:1\tbad\tx\n\n", false},
      {"\nc:1\tbad\tx\n", false},
      {"a:1\tbad\tx\nc:1\tbad\tx\n", false},
      {"c", false},
      {"a:1\tbad\t" + std::string(200'000, 'z') + "\nc:1\tbad\t\n", false},
  };
  const std::vector<std::string> inputs = {"a", "b"};
  const std::string mark = Reject("a");
  for (const Case& c : cases) {
    SCOPED_TRACE(c.rest.substr(0, 40));
    WriteText(path(), before + c.rest);  // keeps the mark
    RejectsFile file(path());
    ASSERT_TRUE(file.CutBack(before.size(), mark, inputs).ok());
    EXPECT_EQ(file.mark(), mark);
    EXPECT_EQ(contents(), c.cut ? before : before + c.rest);
    EXPECT_EQ(file.bytes(), contents().size());
  }
}

TEST_F(RejectsFileTest, KeepsWhatAnotherImportWroteMeanwhile) {
  const std::vector<std::string> inputs = {"a"};
  const std::string mark = Reject("a");
  Reject("a");  // a file in another directory, for example
  for (int round = 0; round < 2; ++round) {
    const std::string before = contents();
    RejectsFile file(path());
    ASSERT_TRUE(file.CutBack(0, mark, inputs).ok());
    EXPECT_EQ(contents(), before);
    // If this import is killed before its next checkpoint, the next one comes with the old mark again.
    file.Add(Lines({"y"}, 2), "a");
    ASSERT_TRUE(file.Write().ok());
    EXPECT_NE(file.mark(), mark);
  }
}

TEST_F(RejectsFileTest, CutsNothingInAFileThatWasReplaced) {
  const std::vector<std::string> inputs = {"a"};
  const std::string mark = Reject("a");
  const std::string before = contents();
  directory_.Write("rejects.tsv", before);
  for (const std::string& wanted : {mark, std::string()}) {
    ASSERT_TRUE(RejectsFile(path()).CutBack(0, wanted, inputs).ok());
    EXPECT_EQ(contents(), before);
  }
}

TEST_F(RejectsFileTest, AfterATornEntryNothingComesTwice) {
  if (!directory_.has_user_attributes()) GTEST_SKIP() << "the file system has no extended attributes of users";
  const std::string torn = "b:1\tbad\tx";
  WriteText(path(), torn);
  const std::vector<std::string> inputs = {"a"};
  std::string mark;
  for (int round = 0; round < 3; ++round) {
    RejectsFile file(path());
    ASSERT_TRUE(file.CutBack(torn.size(), mark, inputs).ok());
    mark = file.mark();
    EXPECT_EQ(contents(), torn);
    file.Add(Lines({"y"}, 1), "a");
    ASSERT_TRUE(file.Write().ok());
    EXPECT_EQ(contents(), torn + "\na:1\tbad\ty\n");
  }
}

TEST_F(RejectsFileTest, CutsNothingThatIsNotThere) {
  { EXPECT_TRUE(RejectsFile(path()).CutBack(10, "", std::vector<std::string>{"a"}).ok()); }
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(RejectsFileTest, GoesOnInTheMiddleWhenThereIsRoomAgain) {
  const std::string long_line(3000, 'x');
  std::string expected;
  RejectsFile file(path());
  for (uint64_t line = 1; line <= 10; ++line) {
    expected += "f:" + std::to_string(line) + "\tbad\t" + long_line + "\n";
    file.Add(Lines({long_line}, line), "f");
    {
      const FileSizeLimit limit(expected.size() - 1000);
      EXPECT_FALSE(file.Write().ok());
      EXPECT_FALSE(file.Write().ok());
    }
    ASSERT_TRUE(file.Write().ok());
    EXPECT_EQ(file.bytes(), expected.size());
  }
  EXPECT_EQ(contents(), expected);
}

TEST_F(RejectsFileTest, ForgetsWhatIsNotWrittenWhole) {
  RejectsFile file(path());
  file.Add(Lines({"good"}, 1), "f");
  ASSERT_TRUE(file.Write().ok());
  const std::string expected = contents();
  file.Add(Lines({std::string(3000, 'x')}, 2), "f");
  {
    const FileSizeLimit limit(1000);
    EXPECT_FALSE(file.Write().ok());
    file.Forget();
  }
  EXPECT_EQ(contents(), expected);
  EXPECT_TRUE(file.Write().ok());
  EXPECT_EQ(contents(), expected);
}

TEST_F(RejectsFileTest, SaysBeforehandThatItCannotBeWritten) {
  EXPECT_FALSE(RejectsFile(directory_ / "missing/rejects.tsv").Open().ok());
  EXPECT_FALSE(RejectsFile(directory_.path()).Open().ok());
  EXPECT_TRUE(RejectsFile("/dev/null").Open().ok());
}

}  // namespace
}  // namespace weir
