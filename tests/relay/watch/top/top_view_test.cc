// The screens of weir top, without a terminal.
#include "relay/watch/top/top_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "config/text/parse.h"
#include "config/text/utf8.h"
#include "tests/relay/watch/top/shown_lines.h"
#include "tests/relay/watch/top/told_state.h"

namespace weir {
namespace {

using Lines = std::vector<std::string>;
constexpr std::array<std::pair<size_t, size_t>, 7> kSizes = {
    {{80, 24}, {40, 10}, {200, 50}, {20, 5}, {19, 4}, {1, 1}, {130, 15}}};

class TopViewTest : public testing::Test {
 protected:
  TopViewTest() { UseUtf8(); }

  static Lines LinesOf(const Watched& watched, const Look& look, TimePoint now = {}) {
    return Draw(watched, look, now).screen.Lines();
  }
  static std::string TextOf(const Lines& lines) { return Join(lines, "\n"); }
  static bool Shows(const Lines& lines, const std::string& text) {
    return TextOf(lines).find(text) != std::string::npos;
  }

  // Returns what a history of these levels of bulk work draws, a cell each.
  static std::string SparkOf(const std::vector<double>& levels) {
    ToldState told;
    for (size_t i = 0; i < levels.size(); ++i) {
      LiveRow& row = told.history.emplace_back();
      row.at = told.at + 5 * static_cast<double>(i);
      if (levels[i] >= 0) row.Set(LiveFigure::kLevelBulk, levels[i]);
      row.Set(LiveFigure::kSetpointBulk, 0.5);
    }
    const std::string line = LinesOf(told.ToWatched(), {})[5];
    std::string spark;
    for (const char32_t c : Shown(line, Charset::kUtf8))
      if (c >= U'▁' && c <= U'█') spark += "12345678"[c - U'▁'];
    return spark;
  }
};

TEST_F(TopViewTest, TheOverviewTellsAllThatMattersIn80By24) {
  const Lines lines = LinesOf(ToldState().ToWatched(), {});
  ASSERT_EQ(lines.size(), 24U);
  EXPECT_EQ(lines[0], " Quiet Harbour  weir 0.1.0 on rocksdb       http://127.0.0.1:3334  16:00:00 UTC");
  EXPECT_EQ(lines[1], "  LIMITING  Bulk work is held to 3.10 MB/s (L0 files 17 of 20: compaction is");
  EXPECT_EQ(lines[2], "            behind).");
  EXPECT_EQ(lines[3], "          level     of  the last 1:35 min    pass/s  refused/s    wait  waiting");
  EXPECT_EQ(lines[4], " writes    0.31   0.85                           12          –       –        –");
  EXPECT_EQ(lines[5], " bulk      0.69   0.70                        12.3k          –   812ms        3");
  EXPECT_EQ(lines[8], " writes  nothing limits; nearest: L0 files 17 of 20");
  EXPECT_EQ(lines[13], " load    CPU 43 % · memory 210 MB of 1.40 GB · saved –, bulk –");
  EXPECT_EQ(lines[16], " Imports");
  EXPECT_EQ(lines[18], " 10.0.0.7  1.20M  L0 files");
  EXPECT_EQ(lines[20], " Addresses that take most, and 3 more");
  EXPECT_EQ(lines[23], " 1 overview  2 clients  3 imports  4 limiters  5 engine  ? help  q end      ↓ 5");
}

TEST_F(TopViewTest, NoLineIsWiderThanTheTerminalWhateverTheRelaySays) {
  ToldState hostile;
  const std::string long_name(5000, 'x');
  hostile.name = "港\x1b[2J" + long_name;
  hostile.mood = "a mood\r\n" + long_name;
  hostile.summary = long_name + " 港 \xe2\x80\xae " + long_name;
  for (LiveTable& table : hostile.tables) {
    table.title = "\x1b]0;" + long_name;
    for (auto& row : table.rows) row.assign(table.columns.size(), "\xc2\x9b" + long_name);
  }
  ToldState nothing;
  nothing.now = LiveRow();
  nothing.tables.clear();
  ToldState huge;
  huge.now.figures.fill(3e38F);
  Watched bare;
  for (Watched watched : {ToldState().ToWatched(), hostile.ToWatched(), nothing.ToWatched(), huge.ToWatched(), bare}) {
    for (const auto link : {Watched::Link::kLive, Watched::Link::kPolled, Watched::Link::kLost}) {
      watched.link = link;
      watched.problem = hostile.summary;
      for (const auto& [width, height] : kSizes) {
        for (size_t view = 0; view < kTopViewNames.size(); ++view) {
          for (const Charset charset : {Charset::kUtf8, Charset::kAscii}) {
            const Look look{.view = static_cast<TopView>(view),
                            .help = view == 4 && width == 200,
                            .scroll = view * 3,
                            .width = width,
                            .height = height,
                            .charset = charset};
            const Lines lines = LinesOf(watched, look);
            ASSERT_EQ(lines.size(), height);
            for (const std::string& line : lines) {
              EXPECT_LE(ColumnsOf(line), width) << line;
              EXPECT_TRUE(IsUtf8(line));
              EXPECT_EQ(line.find_first_of("\x1b\r\n\t"), line.npos);
              if (charset == Charset::kAscii) {
                EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= ' ' && c < 0x7f; })) << line;
              }
            }
          }
        }
      }
    }
  }
}

TEST_F(TopViewTest, EachViewShowsItsTables) {
  const Watched watched = ToldState().ToWatched();
  EXPECT_TRUE(Shows(LinesOf(watched, {.view = TopView::kClients}), "2001:db8::17          0.1 %"));
  EXPECT_TRUE(Shows(LinesOf(watched, {.view = TopView::kImports}), "10.0.0.7"));
  EXPECT_TRUE(Shows(LinesOf(watched, {.view = TopView::kLimiters}), "alice"));
  EXPECT_TRUE(Shows(LinesOf(watched, {.view = TopView::kEngine}), "L0        17"));
  EXPECT_TRUE(Shows(LinesOf(watched, {.view = TopView::kEngine}), "IMPORT_SETPOINT  0.6"));
}

TEST_F(TopViewTest, ATableWithoutRowsSaysSoAndANewOneIsShown) {
  ToldState told;
  told.tables = {{.name = "imports", .title = "Imports", .columns = {{"from"}}, .empty = "no import runs"},
                 {.name = "stored_kinds", .title = "Stored, by kind", .columns = {{"kind"}}, .rows = {{"30023"}}},
                 {.name = "tides", .title = "Tides", .columns = {{"where"}}, .rows = {{"Kiel"}}}};
  EXPECT_TRUE(Shows(LinesOf(told.ToWatched(), {.view = TopView::kImports}), " Imports: no import runs"));
  EXPECT_TRUE(Shows(LinesOf(told.ToWatched(), {.view = TopView::kLimiters}), "Kiel"));
  EXPECT_FALSE(Shows(LinesOf(told.ToWatched(), {.view = TopView::kLimiters}), "30023"));
  EXPECT_TRUE(Shows(LinesOf(told.ToWatched(), {.view = TopView::kEngine}), "30023"));
}

TEST_F(TopViewTest, ScrollingEndsWhereNothingMoreComes) {
  const Watched watched = ToldState().ToWatched();
  const Drawn first = Draw(watched, {.width = 40, .height = 10}, {});
  EXPECT_EQ(first.page, 7U);
  ASSERT_GT(first.furthest, 0U);
  EXPECT_TRUE(Shows(first.screen.Lines(), "↓ " + std::to_string(first.furthest)));
  const Drawn last = Draw(watched, {.scroll = 10'000, .width = 40, .height = 10}, {});
  EXPECT_EQ(last.screen.Lines()[0], first.screen.Lines()[0]) << "how it is stays in sight";
  EXPECT_EQ(last.screen.Lines()[8], " L0        17");
  EXPECT_FALSE(Shows(last.screen.Lines(), "↓"));
}

TEST_F(TopViewTest, ANarrowTerminalKeepsTheLevels) {
  const Lines lines = LinesOf(ToldState().ToWatched(), {.width = 40, .height = 10});
  EXPECT_EQ(lines[2], "          level     of  pass/s");
  EXPECT_EQ(lines[4], " bulk      0.69   0.70   12.3k");
  EXPECT_EQ(lines[9].substr(0, 25), " 1 overview 2 3 4 5 ? q  ");
  EXPECT_TRUE(Shows(LinesOf(ToldState().ToWatched(), {.width = 19, .height = 9}), "too small")) << "and this says so";
}

TEST_F(TopViewTest, AWideTerminalHasTwoColumns) {
  const Lines lines = LinesOf(ToldState().ToWatched(), {.width = 200, .height = 50});
  EXPECT_TRUE(std::ranges::any_of(lines, [](const std::string& line) {
    return line.find("Imports") != line.npos && line.find("RocksDB's levels") != line.npos;
  })) << TextOf(lines);
}

TEST_F(TopViewTest, TheSparklineIsTheLevelAgainstItsSetpoint) {
  EXPECT_EQ(SparkOf({}), "");
  EXPECT_EQ(SparkOf({0.5}), "8") << "short history";
  EXPECT_EQ(SparkOf({0, 0.25, 0.499, 0.5, 3}), "14788");
  EXPECT_EQ(SparkOf({0.5, -1, 0.5}), "88") << "nothing is known of the one between";
  EXPECT_EQ(SparkOf(std::vector<double>(600, 0.1)).size(), 19U);
}

TEST_F(TopViewTest, ShowsThatTheRelayIsLostAndKeepsItsLastFigures) {
  Watched watched = ToldState().ToWatched();
  watched.link = Watched::Link::kLost;
  watched.problem = "cannot connect to 127.0.0.1:3334: Connection refused";
  watched.heard = TimePoint(std::chrono::seconds(10));
  const Lines lines = LinesOf(watched, {}, TimePoint(std::chrono::milliseconds(17'900)));
  EXPECT_EQ(lines[1], "  NO ANSWER  no answer from http://127.0.0.1:3334 for 7 s, trying again: cannot");
  EXPECT_EQ(lines[2], "             connect to 127.0.0.1:3334: Connection refused");
  EXPECT_TRUE(Shows(lines, "0.69   0.70"));
  watched.link = Watched::Link::kPolled;
  EXPECT_EQ(
      LinkInWords(watched, {}),
      "The state is read every five seconds, because no events arrive (cannot connect to 127.0.0.1:3334: Connection "
      "refused); something on the way may hold them back.");
  EXPECT_TRUE(Shows(LinesOf(watched, {}), "every five seconds"));
}

TEST_F(TopViewTest, PrintedOnceItIsAsLongAsItHasToBe) {
  const Watched watched = ToldState().ToWatched();
  const Lines lines = DrawWhole(watched, {}, {}).Lines();
  EXPECT_EQ(lines.back(), " L0        17");
  EXPECT_FALSE(Shows(lines, "q end"));
  ToldState long_one;
  for (LiveTable& table : long_one.tables)
    while (table.rows.size() < LiveTable::kMostRows) table.rows.push_back(table.rows.back());
  long_one.tables.back().rows.back()[0] = "the last";
  EXPECT_TRUE(Shows(DrawWhole(long_one.ToWatched(), {}, {}).Lines(), "the last"));
}

TEST_F(TopViewTest, HelpTellsKeysAndFigures) {
  const Lines lines = LinesOf(ToldState().ToWatched(), {.help = true});
  EXPECT_TRUE(Shows(lines, "PageDown"));
  EXPECT_TRUE(Shows(lines, "setpoint"));
}

}  // namespace
}  // namespace weir
