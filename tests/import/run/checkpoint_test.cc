#include "import/run/checkpoint.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include "tests/import/run/import_child.h"

namespace weir {
namespace {

Checkpoint Example() {
  Checkpoint checkpoint;
  checkpoint.inputs = {"/a/b.jsonl", "-"};
  checkpoint.names = {"b.jsonl", "-"};
  checkpoint.input = 1;
  checkpoint.place = {.bytes = 1234567890123, .lines = 77};
  checkpoint.tail = "00ff";
  for (size_t i = 0; i < kLineOutcomes; ++i) checkpoint.tally.lines[i] = i * 10;
  checkpoint.tally.bytes = 99;
  checkpoint.rejects = "/a/rejects \"quoted\".tsv";
  checkpoint.rejects_bytes = 4096;
  checkpoint.rejects_mark = "17-4";
  checkpoint.database = "1b4e28ba-2fa1";
  return checkpoint;
}

void ExpectSame(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.names, b.names);
  EXPECT_EQ(a.input, b.input);
  EXPECT_EQ(a.place.bytes, b.place.bytes);
  EXPECT_EQ(a.place.lines, b.place.lines);
  EXPECT_EQ(a.tail, b.tail);
  EXPECT_EQ(a.tally.lines, b.tally.lines);
  EXPECT_EQ(a.tally.bytes, b.tally.bytes);
  EXPECT_EQ(a.rejects, b.rejects);
  EXPECT_EQ(a.rejects_bytes, b.rejects_bytes);
  EXPECT_EQ(a.rejects_mark, b.rejects_mark);
  EXPECT_EQ(a.database, b.database);
}

TEST(Checkpoint, ComesBackAsItWasWritten) {
  const TempDirectory directory;
  const CheckpointFile file(directory / "c.json");
  ASSERT_TRUE(file.Write(Example()).ok());
  const auto read = file.Read();
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_TRUE(read.value().has_value());
  ExpectSame(*read.value(), Example());
}

TEST(Checkpoint, AFileThatIsNotThereIsNoError) {
  const TempDirectory directory;
  const CheckpointFile file(directory / "c.json");
  const auto read = file.Read();
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read.value().has_value());
  EXPECT_TRUE(file.Remove().ok());
}

TEST(Checkpoint, TheFormerStaysIfTheNextCannotBeWritten) {
  const TempDirectory directory;
  const CheckpointFile file(directory / "c.json");
  ASSERT_TRUE(file.Write(Example()).ok());
  std::filesystem::create_directory(directory / "c.json.new");  // in the way
  Checkpoint next = Example();
  next.place.lines = 78;
  const Status status = file.Write(next);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find(directory / "c.json"), std::string::npos) << status.message();
  ExpectSame(*file.Read().value(), Example());
}

TEST(Checkpoint, NamesTheFaultOfABadFile) {
  const std::string good = ToJson(Example());
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::pair<std::string, std::string> cases[] = {
      {"", "is damaged"},
      {good.substr(0, good.size() / 2), "is damaged"},
      {"[]", "is damaged"},
      {"{}", "no \"version\""},
      {replaced("\"version\": 1", "\"version\": 2"), "is of version 2, this program knows 1"},
      {replaced("\"lines\": 77", "\"lines\": \"77\""), "no \"lines\""},
      {replaced("\"input\": 1", "\"input\": 2"), "\"input\" is beyond \"inputs\""},
      {replaced("\"bad_signature\"", "\"good_signature\""), "no \"bad_signature\" in \"tally\""},
      {replaced("[\"/a/b.jsonl\", \"-\"]", "[1]"), "\"inputs\" are not names"},
  };
  for (const auto& [text, expected] : cases) {
    const auto parsed = ParseCheckpoint(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.status().message().find(expected), std::string::npos) << parsed.status().message();
  }
}

TEST(Checkpoint, OfAnEarlierWeirHasNoMark) {
  std::string text = ToJson(Example());
  text.replace(text.find("rejects_mark"), 12, "unknown_name");
  const auto parsed = ParseCheckpoint(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed.value().rejects_mark, "");
}

RC_GTEST_PROP(Checkpoint, NoDamageGetsPastTheReader, (uint64_t seed)) {
  std::string text = ToJson(Example());
  text[seed % text.size()] = static_cast<char>(seed >> 32);
  (void)ParseCheckpoint(text).ok();  // an answer, whichever
}

TEST(Checkpoint, IsTheSameForTheSameFilesHoweverTheyAreNamed) {
  const auto name = [](const std::vector<std::string>& inputs, const std::string& relay = "") {
    return CheckpointName(AbsolutePaths(inputs), relay);
  };
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(name({"a.jsonl"}), name({here + "/a.jsonl"}));
  EXPECT_EQ(name({"./x/../a.jsonl"}), name({"a.jsonl"}));
  EXPECT_NE(name({"a.jsonl"}), name({"b.jsonl"}));
  EXPECT_NE(name({"a", "b"}), name({"b", "a"}));
  EXPECT_NE(name({"-"}), name({"./-"}));
  EXPECT_NE(name({"a"}), name({"a"}, "http://127.0.0.1:3334"));
}

TEST(Checkpoint, IsTheSameThroughALink) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory / "real");
  WriteText(directory / "real/a.jsonl", "");
  WriteText(directory / "a.jsonl", "");
  std::filesystem::create_directory_symlink(directory / "real", directory / "link");
  std::filesystem::create_directory(directory / "real/below");
  std::filesystem::create_directory_symlink(directory / "real/below", directory / "deep");
  EXPECT_EQ(AbsolutePath(directory / "link/a.jsonl"), AbsolutePath(directory / "real/a.jsonl"));
  // The file that the system opens by this name, not the one that is left when ".." takes the link away.
  EXPECT_EQ(AbsolutePath(directory / "deep/../a.jsonl"), AbsolutePath(directory / "real/a.jsonl"));
  EXPECT_NE(AbsolutePath(directory / "deep/../a.jsonl"), AbsolutePath(directory / "a.jsonl"));
}

TEST(Checkpoint, IsHeldByOneAtATime) {
  const TempDirectory directory;
  {
    CheckpointFile first(directory / "c.json");
    ASSERT_TRUE(first.Hold().ok());
    CheckpointFile second(directory / "c.json");
    EXPECT_EQ(second.Hold().message(), "these files are being imported by process " + std::to_string(getpid()));
    EXPECT_TRUE(CheckpointFile(directory / "other.json").Hold().ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  WriteText(directory / "c.json.lock", "1\n");  // left by an import that was killed
  EXPECT_TRUE(CheckpointFile(directory / "c.json").Hold().ok());
}

TEST(Checkpoint, NamesThatAreNoTextCanBeReadAgain) {
  Checkpoint odd = Example();
  odd.names = {"\xff\xfe.jsonl", "a\nb"};
  const auto parsed = ParseCheckpoint(ToJson(odd));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed.value().names, (std::vector<std::string>{"\\xff\\xfe.jsonl", "a\\x0ab"}));
}

}  // namespace
}  // namespace weir
