#include "import/input/source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/as_nobody.h"
#include "tests/import/input/compressed.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

struct Read {
  std::vector<Chunk> chunks;
  Status status;

  std::string text() const {
    std::string text;
    for (const Chunk& chunk : chunks) text += chunk.text;
    return text;
  }
};

Read ReadAll(Source& source) {
  Read read;
  while (true) {
    Result<std::optional<Chunk>> next = source.Next();
    if (!next.ok()) {
      read.status = next.status();
      return read;
    }
    if (!next.value()) return read;
    read.chunks.push_back(*std::move(next).value());
  }
}

Read ReadAll(const SourceOptions& options, const std::string& tail = "") {
  const Result<std::unique_ptr<Source>> source = Source::Open(options, tail);
  if (!source.ok()) return {.chunks = {}, .status = source.status()};
  return ReadAll(*source.value());
}

class SourceTest : public testing::Test {
 protected:
  std::string File(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return directory_ / name;
  }

  TempDirectory directory_;
};

// Returns lines of every kind.
std::string OddLines() {
  std::string text = "\xef\xbb\xbf{}\r\n\n\r\n \nx\n" + std::string(3, '\0') + "\n";
  for (const size_t size : {1, 2, 19, 20, 21, 22, 45, 100}) text += std::string(size, 'l') + "\n";
  return text + "no line feed at the end";
}

SourceOptions Small(std::vector<std::string> inputs) {
  return {.inputs = std::move(inputs), .limits = {.chunk_bytes = 16, .max_line_bytes = 20}, .first_place = {}};
}

TEST_F(SourceTest, ReadsPlainAndCompressedInputsOneAfterTheOther) {
  const std::string text = OddLines();
  const Read read = ReadAll(Small({File("a.jsonl", text), File("b.gz", Gzip(text)), File("c.zst", Zstd(text)),
                                   File("empty", ""), File("called.gz", "but plain\n")}));
  EXPECT_TRUE(read.status.ok()) << read.status.message();
  EXPECT_EQ(read.text(), text + text + text + "but plain\n");
  EXPECT_EQ(read.chunks.back().input, 4U);
  EXPECT_EQ(read.chunks.back().end.lines, 1U);
}

TEST_F(SourceTest, ReadsFilesThatAreTooShortToTellTheirCompression) {
  for (const std::string text : {"", "\n", "x", "x\n", "abc"})
    EXPECT_EQ(ReadAll(Small({File("a", text)})).text(), text);
}

TEST_F(SourceTest, SaysHowMuchThereIsAndHowMuchWasRead) {
  const std::string a = File("a", "1\n22\n");
  const std::string b = File("b.gz", Gzip("x\n"));
  const Result<std::unique_ptr<Source>> source = Source::Open(Small({a, b}));
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source.value()->total_bytes(), 5 + Gzip("x\n").size());
  EXPECT_EQ(source.value()->bytes_before(0), 0U);
  EXPECT_EQ(source.value()->bytes_before(1), 5U);
  EXPECT_EQ(source.value()->bytes_before(2), source.value()->total_bytes());
  const Read read = ReadAll(*source.value());
  EXPECT_EQ(read.chunks[0].file_bytes, 5U);
  EXPECT_EQ(read.chunks[1].file_bytes, Gzip("x\n").size());
}

TEST_F(SourceTest, KnowsWhereItBeginsInAPlainFile) {
  for (const bool plain : {true, false}) {
    SourceOptions options = Small({File("a", plain ? "1\n22\n" : Gzip("1\n22\n"))});
    options.first_place = {.bytes = 2, .lines = 1};
    const Result<std::unique_ptr<Source>> source = Source::Open(options);
    ASSERT_TRUE(source.ok());
    EXPECT_EQ(source.value()->first_file_bytes(), plain ? 2U : 0U);
  }
}

TEST_F(SourceTest, SaysWhichInputIsDamaged) {
  const std::string packed = Gzip(OddLines());
  const Result<std::unique_ptr<Source>> source =
      Source::Open(Small({File("good", "x\n"), File("cut.gz", packed.substr(0, packed.size() / 2)), File("c", "y\n")}));
  ASSERT_TRUE(source.ok());
  EXPECT_FALSE(ReadAll(*source.value()).status.ok());
  EXPECT_EQ(source.value()->input(), 1U);
}

TEST_F(SourceTest, NamesWhatCannotBeReadBeforeItReads) {
  const std::string good = File("good", "x\n");
  EXPECT_EQ(ReadAll(Small({good, directory_ / "none"})).status.message(),
            "cannot read " + (directory_ / "none") + ": No such file or directory");
  EXPECT_EQ(ReadAll(Small({good, directory_.path()})).status.message(),
            directory_.path() + " is a directory; name the files in it");
  chmod(good.c_str(), 0);
  EXPECT_EQ(AsNobody(directory_.path(), [&] { return ReadAll(Small({good})).status.message(); }),
            "cannot read " + good + ": Permission denied");
}

// Goes on from every place where a chunk ended with a line.
TEST_F(SourceTest, GoesOnAtEveryPlaceWithTheRest) {
  const std::string text = OddLines();
  const std::vector<std::string> inputs = {File("plain", text), File("b.gz", Gzip(text)), File("c.zst", Zstd(text))};
  const Read whole = ReadAll(Small(inputs));
  ASSERT_TRUE(whole.status.ok());
  Tail tail;
  std::string before;
  uint32_t input = 0;
  for (const Chunk& chunk : whole.chunks) {
    if (std::exchange(input, chunk.input) != chunk.input) tail = Tail();
    tail.Add(chunk.text);
    before += chunk.text;
    if (!chunk.last_piece) continue;
    SourceOptions options = Small(inputs);
    options.first_input = chunk.input;
    options.first_place = chunk.end;
    const Result<std::unique_ptr<Source>> source = Source::Open(options, tail.Hex());
    ASSERT_TRUE(source.ok()) << source.status().message();
    const Read rest = ReadAll(*source.value());
    ASSERT_TRUE(rest.status.ok()) << rest.status.message();
    EXPECT_EQ(before + rest.text(), whole.text());
    EXPECT_EQ(source.value()->first_tail(), tail.bytes());
    if (rest.chunks.empty() || rest.chunks[0].input != chunk.input) continue;
    EXPECT_EQ(rest.chunks[0].begin.bytes, chunk.end.bytes);
    EXPECT_EQ(rest.chunks[0].begin.lines, chunk.end.lines);
  }
}

TEST_F(SourceTest, RefusesToGoOnInAFileThatIsNotWhatItWas) {
  const std::string text =
      std::string(3000, 'a') + "\n" + std::string(3000, 'b') + "\n" + std::string(3000, 'c') + "\n";
  const Place place{.bytes = 6002, .lines = 2};
  Tail tail;
  tail.Add(text.substr(0, place.bytes));
  std::string changed = text;
  changed[place.bytes - kTailBytes] = '!';
  std::string changed_earlier = text;
  changed_earlier[place.bytes - kTailBytes - 1] = '!';
  for (const auto& compress : {+[](const std::string& t) { return t; }, &Gzip, &Zstd}) {
    for (const auto& [now, same] : {std::pair{text, true}, std::pair{changed, false}, std::pair{changed_earlier, true},
                                    std::pair{text.substr(0, 6001), false}, std::pair{std::string(), false}}) {
      SourceOptions options{.inputs = {File("big.jsonl", compress(now))}, .limits = {}, .first_place = place};
      const Read read = ReadAll(options, tail.Hex());
      EXPECT_EQ(read.status.ok(), same) << read.status.message();
      EXPECT_EQ(read.text(), same ? text.substr(place.bytes) : "");
      if (same) continue;
      EXPECT_EQ(read.status.message(), options.inputs[0] +
                                           " is not what it was when the import stopped (its bytes before line 3 "
                                           "differ); start anew without --resume: what is stored already is passed "
                                           "over");
    }
  }
}

TEST_F(SourceTest, HandsOverTheWholeLinesBeforeDamageAndNamesTheRest) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  const std::string data = Gzip(text);
  for (size_t size = 3; size < data.size(); size += 97) {
    const std::string path = File("cut.gz", data.substr(0, size));
    const Read read = ReadAll({.inputs = {path}, .limits = {.chunk_bytes = 100}, .first_place = {}});
    const std::string got = read.text();
    ASSERT_EQ(got, text.substr(0, got.size()));
    EXPECT_TRUE(got.empty() || got.back() == '\n');
    const size_t lines = static_cast<size_t>(std::count(got.begin(), got.end(), '\n'));
    const std::string expected =
        path + ": damaged after line " + std::to_string(lines) + ": cut off: the gzip data ends in the middle";
    ASSERT_EQ(read.status.message().substr(0, expected.size()), expected);
  }
}

TEST_F(SourceTest, HandsOverWhatAStreamHasAndWaitsForMore) {
  const std::string path = directory_ / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const Result<std::unique_ptr<Source>> opened = Source::Open(Small({path}));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Source& source = *opened.value();
  EXPECT_EQ(source.total_bytes(), 0U);
  const int writer = open(path.c_str(), O_WRONLY);
  ASSERT_EQ(write(writer, "one\ntwo\nth", 10), 10);
  Result<std::optional<Chunk>> next = source.Next();
  ASSERT_TRUE(next.ok() && next.value());
  EXPECT_EQ(next.value()->text, "one\ntwo\n");
  ASSERT_EQ(write(writer, "ree\n", 4), 4);
  next = source.Next();
  ASSERT_TRUE(next.ok() && next.value());
  EXPECT_EQ(next.value()->text, "three\n");
  EXPECT_EQ(next.value()->begin.lines, 2U);
  ASSERT_EQ(write(writer, "four", 4), 4);
  close(writer);
  next = source.Next();
  ASSERT_TRUE(next.ok() && next.value());
  EXPECT_EQ(next.value()->text, "four");
  next = source.Next();
  ASSERT_TRUE(next.ok());
  EXPECT_FALSE(next.value());
}

TEST_F(SourceTest, StopsWhileItWaitsForAStream) {
  const std::string path = directory_ / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const Result<std::unique_ptr<Source>> source = Source::Open(Small({path}));
  ASSERT_TRUE(source.ok());
  std::thread stopper([&] { source.value()->Stop(); });
  const Result<std::optional<Chunk>> next = source.value()->Next();
  stopper.join();
  EXPECT_TRUE(next.ok());
  EXPECT_FALSE(next.value());
}

TEST_F(SourceTest, StopsInTheMiddleOfAFile) {
  const Result<std::unique_ptr<Source>> source = Source::Open(Small({File("a", OddLines())}));
  ASSERT_TRUE(source.ok());
  ASSERT_TRUE(source.value()->Next().value());
  source.value()->Stop();
  EXPECT_FALSE(source.value()->Next().value());
}

// Borrows the standard input of this process.
TEST_F(SourceTest, ReadsStandardInput) {
  for (const bool resumed : {false, true}) {
    const int saved = dup(STDIN_FILENO);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    dup2(ends[0], STDIN_FILENO);
    const std::string data = Gzip("one\ntwo\nthree");
    ASSERT_EQ(write(ends[1], data.data(), data.size()), static_cast<ssize_t>(data.size()));
    close(ends[1]);
    SourceOptions options = Small({"-"});
    if (resumed) options.first_place = {.bytes = 4, .lines = 1};
    Tail tail;
    tail.Add("one\n");
    const Read read = ReadAll(options, resumed ? tail.Hex() : "");
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(ends[0]);
    EXPECT_TRUE(read.status.ok()) << read.status.message();
    EXPECT_EQ(read.text(), resumed ? "two\nthree" : "one\ntwo\nthree");
  }
}

}  // namespace
}  // namespace weir
