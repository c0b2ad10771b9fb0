// Text that gets into a cell, and text that does not.
#include "relay/watch/top/screen.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "config/text/utf8.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/watch/top/shown_lines.h"

namespace weir {
namespace {

class ScreenTest : public testing::Test {
 protected:
  ScreenTest() { UseUtf8(); }
  static std::string Line(const std::string& text, size_t width, Charset charset = Charset::kUtf8) {
    Screen screen(width, 1, charset);
    screen.Put(0, 0, text);
    return screen.Lines()[0];
  }
};

TEST_F(ScreenTest, NoTextOfAStrangerMovesTheCursor) {
  const std::vector<std::string> hostile = {
      "\x1b]0;owned\x07",             // the title of the window
      "\x1b[2J\x1b[H",                // clears
      "\u009b2J",                     // the same by a C1
      std::string(1, '\x9b') + "2J",  // and by a byte that is no UTF-8
      "a\rb\nc\td\be\x7f",
      "\u202egnp.exe",  // reads from the right
      "\u200b\ufeff",   // no width
      "\xff\xfe\xc0\xaf\xed\xa0\x80",
      std::string("a\0b", 3),
  };
  for (const std::string& text : hostile) {
    for (const Charset charset : {Charset::kUtf8, Charset::kAscii}) {
      Screen screen(20, 1, charset);
      screen.Put(0, 0, text);
      const std::string line = screen.Lines()[0];
      EXPECT_TRUE(IsUtf8(line));
      EXPECT_EQ(line.find_first_of(std::string_view("\x1b\x07\r\n\t\b\x7f\0", 8)), line.npos) << line;
      for (const char* sequence : {"\u009b", "\u202e", "\u200b", "\ufeff"}) EXPECT_FALSE(Has(line, sequence));
      EXPECT_EQ(screen.Frame(true).find('\x1b', 3), std::string::npos) << "but for the one that goes to the corner";
    }
  }
  EXPECT_EQ(Line("\x1b[31mred", 20), "?[31mred");
}

RC_GTEST_PROP(ScreenProperty, AnyBytesStayWithinTheirCells, (const std::string& bytes)) {
  UseUtf8();
  const auto width = *rc::gen::inRange<size_t>(0, 30);
  for (const Charset charset : {Charset::kUtf8, Charset::kAscii}) {
    Screen screen(40, 3, charset);
    for (size_t row = 0; row < 3; ++row) screen.Put(row, 39, "|");
    RC_ASSERT(screen.Put(1, 2, bytes, Ink::kPlain, width) <= 2 + width);
    for (const std::string& line : screen.Lines()) {
      RC_ASSERT(IsUtf8(line));
      RC_ASSERT(ColumnsOf(line) == 40U);
      RC_ASSERT(line.back() == '|');
    }
  }
}

TEST_F(ScreenTest, AWideCharacterTakesTwoCellsOrNone) {
  EXPECT_EQ(Line("港港港", 6), "港港港");
  EXPECT_EQ(Line("港港港", 5), "港港…");
  EXPECT_EQ(Line("港港港", 4), "港…");
  Screen screen(6, 1, Charset::kUtf8);
  screen.Put(0, 0, "港港");
  screen.Put(0, 1, "x");
  EXPECT_EQ(screen.Lines()[0], " x港") << "half of one is none";
  Screen narrow(3, 1, Charset::kUtf8);
  narrow.Copy(screen, 0, 1, 0);
  EXPECT_EQ(narrow.Lines()[0], " x");
}

TEST_F(ScreenTest, ATextThatIsCutEndsWithAMark) {
  EXPECT_EQ(Line("harbour", 7), "harbour");
  EXPECT_EQ(Line("harbour", 5), "harb…");
  EXPECT_EQ(Line("harbour", 5, Charset::kAscii), "harb~");
  EXPECT_EQ(Line("harbour", 1), "…");
}

TEST_F(ScreenTest, WithoutUtf8ThereIsAsciiThatLooksLikeIt) {
  EXPECT_EQ(Line("0.7 → 0.6 · p99 – …", 40, Charset::kAscii), "0.7 -> 0.6 . p99 - ...");
  EXPECT_EQ(Line("▁▂▃▄▅▆▇█", 40, Charset::kAscii), "_.-~=+*#");
  EXPECT_EQ(Line("港é", 40, Charset::kAscii), "??");
}

TEST_F(ScreenTest, FiguresEndWhereTheirColumnDoes) {
  Screen screen(10, 1, Charset::kUtf8);
  screen.PutRight(0, 8, "12");
  EXPECT_EQ(screen.Lines()[0], "      12");
  screen.PutRight(0, 4, "123456");
  EXPECT_EQ(screen.Lines()[0], "123…  12");
}

TEST_F(ScreenTest, AMoodIsAWordWhereThereAreNoColours) {
  Screen screen(12, 1, Charset::kUtf8);
  screen.Put(0, 0, "EMERGENCY", Ink::kAlarm);
  screen.Put(0, 9, "bulk", Ink::kBulk);
  EXPECT_EQ(screen.Frame(false), "\x1b[H\x1b[0;7;1mEMERGENCY\x1b[0mbu…");
  EXPECT_EQ(screen.Frame(true), "\x1b[H\x1b[0;97;41;1mEMERGENCY\x1b[0;35mbu…\x1b[0m");
}

TEST_F(ScreenTest, LinesBreakAtBlanks) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(Wrapped("held to 3 MB/s", 8, Charset::kUtf8), (Lines{"held to", "3 MB/s"}));
  EXPECT_EQ(Wrapped("", 8, Charset::kUtf8), Lines{});
  EXPECT_EQ(Wrapped("longer-than-a-line", 8, Charset::kUtf8), Lines{"longer-than-a-line"}) << "cut where it is put";
}

}  // namespace
}  // namespace weir
