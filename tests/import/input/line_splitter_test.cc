#include "import/input/line_splitter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/import/input/split_lines.h"

namespace weir {
namespace {

std::string AnyText() {
  std::string text;
  const auto lines = *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(0, 40));
  for (const size_t size : lines) {
    text += std::string(size, *rc::gen::element('a', 'b', '\r', '\0'));
    text += '\n';
  }
  if (*rc::gen::arbitrary<bool>()) text += std::string(*rc::gen::inRange<size_t>(0, 40), 'z');
  return text;
}

RC_GTEST_PROP(LineSplitter, AnyTextCutAnyhowIsTheSameTextInWholeLines, ()) {
  const std::string text = AnyText();
  const SplitterLimits limits{.chunk_bytes = *rc::gen::inRange<size_t>(1, 60),
                              .max_line_bytes = *rc::gen::inRange<size_t>(0, 50)};
  const auto sizes = *rc::gen::nonEmpty(rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(1, 90)));
  const Place begin{.bytes = *rc::gen::inRange<uint64_t>(0, 9), .lines = *rc::gen::inRange<uint64_t>(0, 9)};
  CheckLines(text, limits, Split(text, limits, sizes, begin, *rc::gen::arbitrary<bool>()), begin);
}

TEST(LineSplitter, HandsAChunkOverWhenItHasItsBytesOrALineMore) {
  const std::vector<Chunk> chunks =
      Split("aaaa\nbbbb\ncc\ndddddddd\n", {.chunk_bytes = 10, .max_line_bytes = 100}, {100});
  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_EQ(chunks[0].text, "aaaa\nbbbb\n");
  EXPECT_EQ(chunks[1].text, "cc\ndddddddd\n");
  EXPECT_EQ(chunks[1].begin.lines, 2U);
}

TEST(LineSplitter, HandsAChunkOfShortLinesOverBeforeItHasItsBytes) {
  std::string text;
  for (uint64_t i = 0; i < 2 * LineSplitter::kMostLines + 3; ++i) text += "x\n";
  const std::vector<Chunk> chunks = Split(text, {}, {1000});
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0].end.lines, LineSplitter::kMostLines);
  EXPECT_EQ(chunks[2].end.lines, 2 * LineSplitter::kMostLines + 3);
  EXPECT_EQ(chunks[2].text, "x\nx\nx\n");
}

TEST(LineSplitter, HandsOverWholeLinesWhenFlushedAndKeepsTheRest) {
  std::vector<std::string> texts;
  const auto keep = [&](Chunk chunk) { texts.push_back(std::move(chunk.text)); };
  LineSplitter splitter({}, 0);
  splitter.Add("one\ntwo\nthr", 11, keep);
  EXPECT_TRUE(texts.empty());
  splitter.Flush(keep);
  EXPECT_EQ(texts, std::vector<std::string>{"one\ntwo\n"});
  EXPECT_TRUE(splitter.unfinished());
  EXPECT_EQ(splitter.place().lines, 2U);
  splitter.Add("ee\n", 14, keep);
  splitter.Flush(keep);
  EXPECT_EQ(texts.back(), "three\n");
  EXPECT_FALSE(splitter.unfinished());
  splitter.End(keep);
  EXPECT_EQ(texts.size(), 2U);
}

TEST(LineSplitter, GivesALineThatIsTooLongInPieces) {
  const std::vector<Chunk> chunks =
      Split("ok\n" + std::string(25, 'x') + "\nok\n", {.chunk_bytes = 8, .max_line_bytes = 20}, {5});
  ASSERT_EQ(chunks.size(), 6U);
  EXPECT_EQ(chunks[0].text, "ok\n");
  for (size_t i = 1; i <= 4; ++i) {
    EXPECT_EQ(chunks[i].kind, Chunk::Kind::kTooLong);
    EXPECT_EQ(chunks[i].first_piece, i == 1);
    EXPECT_EQ(chunks[i].last_piece, i == 4);
    EXPECT_EQ(chunks[i].begin.lines, 1U);
  }
  EXPECT_EQ(chunks[4].text, "x\n");
  EXPECT_EQ(chunks[5].begin.lines, 2U);
}

// Megabytes without a line feed pass through the memory of a few chunks.
TEST(LineSplitter, KeepsNothingOfALineThatIsTooLong) {
  const SplitterLimits limits{.chunk_bytes = 1 << 10, .max_line_bytes = 4 << 10};
  const std::string piece(1 << 20, 'x');
  uint64_t bytes = 0;
  size_t pieces = 0;
  LineSplitter splitter(limits, 0);
  const auto count = [&](const Chunk& chunk) {
    EXPECT_LE(chunk.text.size(), limits.chunk_bytes);
    bytes += chunk.text.size();
    ++pieces;
  };
  for (int i = 1; i <= 64; ++i) {
    splitter.Add(piece, static_cast<uint64_t>(i) << 20, count);
    EXPECT_GE(bytes + limits.chunk_bytes, static_cast<uint64_t>(i) << 20);
  }
  splitter.End(count);
  EXPECT_EQ(bytes, uint64_t{64} << 20);
  EXPECT_EQ(pieces, size_t{64} << 10);
}

}  // namespace
}  // namespace weir
