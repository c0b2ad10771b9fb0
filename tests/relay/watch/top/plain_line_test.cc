// A line a second, for logs.
#include "relay/watch/top/plain_line.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/fixtures/has_text.h"
#include "tests/relay/watch/top/shown_lines.h"
#include "tests/relay/watch/top/told_state.h"

namespace weir {
namespace {

std::vector<std::string> WordsOf(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

TEST(PlainLine, TellsAllInColumns) {
  EXPECT_EQ(PlainLine(ReadFeedState(ToldState().Json()).value(), Charset::kUtf8),
            "2025-11-24T16:00:00Z limiting write 0.31/0.85 12.0 - - bulk 0.69/0.70 12340.0 - 812.0ms "
            "read 0.02/0.85 - - - ok -/- eose -/- open 12/30 memory 210/1400 cpu 0.43 "
            "Bulk work is held to 3.10 MB/s (L0 files 17 of 20: compaction is behind).");
}

TEST(PlainLine, ColumnsStayWhereTheyAre) {
  ToldState full;
  full.mood = "sensor lost";
  full.now.figures.fill(1e30F);
  for (const std::string& json : {ToldState().Json(), full.Json(), std::string(R"({"format":1})")}) {
    const std::vector<std::string> words = WordsOf(PlainLine(ReadFeedState(json).value(), Charset::kUtf8));
    ASSERT_GE(words.size(), 27U);
    EXPECT_EQ(words[2], "write");
    EXPECT_EQ(words[7], "bulk");
    EXPECT_EQ(words[12], "read");
    EXPECT_EQ(words[17], "ok");
    EXPECT_EQ(words[19], "eose");
    EXPECT_EQ(words[21], "open");
    EXPECT_EQ(words[23], "memory");
    EXPECT_EQ(words[25], "cpu");
  }
}

TEST(PlainLine, NoTextOfAStrangerIsMoreThanText) {
  UseUtf8();
  ToldState told;
  told.mood = "calm\x1b[2J\ncalm";
  told.summary =
      "a\nb\xc2\x9b"
      "c";
  for (const Charset charset : {Charset::kUtf8, Charset::kAscii}) {
    const Result<FeedState> state = ReadFeedState(told.Json());
    ASSERT_TRUE(state.ok()) << state.status().message();
    const std::string line = PlainLine(state.value(), charset);
    EXPECT_EQ(line.find_first_of("\n\x1b"), line.npos) << line;
    EXPECT_FALSE(Has(line, "\xc2\x9b")) << line;
  }
}

}  // namespace
}  // namespace weir
