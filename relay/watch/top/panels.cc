#include "relay/watch/top/panels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "config/text/readable.h"

namespace weir {
namespace {

constexpr size_t kGap = 2;
constexpr double kNearShare = 0.75;  // kHighShare in relay/watch/live/words.cc has the same value

// The number of seconds that one cell of a plot shows: twenty cells show the last 100 seconds.
constexpr double kSecondsOfCell = 5;

struct ClassOfWork {
  const char* name;
  Ink ink;
  LiveFigure level;
  LiveFigure setpoint;
  LiveFigure admitted;
  LiveFigure refused;
  LiveFigure delay;
  LiveFigure waiting;
};
using enum LiveFigure;
constexpr std::array<ClassOfWork, 3> kClasses = {{
    {"writes", Ink::kWrite, kLevelWrite, kSetpointWrite, kAdmittedWrite, kRefusedWrite, kDelayWrite, kWaitingWrite},
    {"bulk", Ink::kBulk, kLevelBulk, kSetpointBulk, kAdmittedBulk, kRefusedBulk, kDelayBulk, kWaitingBulk},
    {"reads", Ink::kRead, kLevelRead, kSetpointRead, kAdmittedRead, kRefusedRead, kDelayRead, kWaitingRead},
}};

constexpr const char* kNothing = "–";

// These functions format figures of the feed for people, as the page at /live does: "0.31" for a level; "0", "1.2" and
// "23.0k" for rates per second; "1.20M", "78.1 MB", "78.1 MB/s", "0.3ms"; "43 %" of one core. A figure without a value
// (NaN) becomes "–".
std::string LevelText(float level) {
  return std::isnan(level) ? kNothing : Fixed(std::clamp(double{level}, -9.0, 999.0), 2);
}
std::string RateText(float rate) {
  if (std::isnan(rate)) return kNothing;
  return rate > 0 && rate < 9.95 ? Fixed(rate, 1) : ShortNumber(RoundedCount(rate));
}
std::string CountText(float count) { return std::isnan(count) ? kNothing : ShortNumber(RoundedCount(count)); }
std::string BytesText(float bytes) { return std::isnan(bytes) ? kNothing : ReadableBytes(RoundedCount(bytes)); }
std::string SpeedText(float bytes) { return std::isnan(bytes) ? kNothing : BytesText(bytes) + "/s"; }
std::string SecondsText(float seconds) {
  return std::isnan(seconds) ? kNothing : ShortTime(FromSeconds(std::clamp(double{seconds}, 0.0, 1e6)));
}
std::string CoresText(float cores) {
  return std::isnan(cores) ? kNothing : Percent(std::clamp(double{cores}, 0.0, 1e4));
}

Ink InkOf(double share, Ink calm) { return share >= 1 ? Ink::kOver : share >= kNearShare ? Ink::kNear : calm; }

// Returns a value for each cell of a plot: the highest share of the setpoint that the level had in the cell's five
// seconds; NaN if it is not known.
std::vector<double> Shares(const LiveHistory& history, const ClassOfWork& work, size_t cells) {
  std::vector<double> shares(cells, std::nan(""));
  if (history.size() == 0) return shares;
  const auto cell_of = [](double at) { return std::floor(at / kSecondsOfCell); };
  const double newest = cell_of(history[history.size() - 1].at);
  for (size_t i = 0; i < history.size(); ++i) {
    const LiveRow& row = history[i];
    const double age = newest - cell_of(row.at);
    const double share = double{row[work.level]} / double{row[work.setpoint]};
    if (!(age >= 0 && age < static_cast<double>(cells)) || !std::isfinite(share)) continue;
    double& cell = shares[cells - 1 - static_cast<size_t>(age)];
    cell = std::fmax(cell, share);
  }
  return shares;
}

// Draws a plot of one row. A full block means a level at or above its setpoint.
void PutSpark(Screen& screen, size_t row, size_t column, const std::vector<double>& shares, Ink calm) {
  static constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  for (const double share : shares) {
    if (!std::isnan(share))
      screen.Put(row, column, kBlocks[static_cast<size_t>(7 * std::clamp(share, 0.0, 1.0))], InkOf(share, calm));
    ++column;
  }
}

struct ClassColumn {
  const char* title;
  size_t cells;
  int rank;  // if room is short, the columns of the highest rank are left out first
  std::string (*text)(const LiveRow& now, const ClassOfWork& work);
};
constexpr size_t kSparkBehind = 1;  // index of the column before the sparkline
constexpr std::array<ClassColumn, 6> kClassColumns = {{
    {"level", 5, 0, [](const LiveRow& now, const ClassOfWork& work) { return LevelText(now[work.level]); }},
    {"of", 5, 0, [](const LiveRow& now, const ClassOfWork& work) { return LevelText(now[work.setpoint]); }},
    {"pass/s", 6, 1, [](const LiveRow& now, const ClassOfWork& work) { return RateText(now[work.admitted]); }},
    {"refused/s", 9, 2, [](const LiveRow& now, const ClassOfWork& work) { return RateText(now[work.refused]); }},
    {"wait", 6, 3, [](const LiveRow& now, const ClassOfWork& work) { return SecondsText(now[work.delay]); }},
    {"waiting", 7, 4, [](const LiveRow& now, const ClassOfWork& work) { return CountText(now[work.waiting]); }},
}};
constexpr size_t kClassName = 1 + 7;
constexpr size_t kFewestSparkCells = 8;

size_t NaturalWidth(const LiveTable& table, size_t column, size_t rows, Charset charset) {
  size_t width = WidthOf(Shown(table.columns[column].title, charset));
  for (size_t row = 0; row < rows; ++row) width = std::max(width, WidthOf(Shown(table.rows[row][column], charset)));
  return width;
}

struct Columns {
  std::vector<size_t> widths;
  size_t gap = kGap;
};

// Returns the widths of the columns. If room is short, shrinks the gaps first, then the widest columns of text, but no
// column of figures.
Columns ColumnsOf(const LiveTable& table, size_t rows, PanelShape shape) {
  constexpr size_t kFewest = 6;
  Columns columns;
  std::vector<size_t>& widths = columns.widths;
  for (size_t column = 0; column < table.columns.size(); ++column)
    widths.push_back(NaturalWidth(table, column, rows, shape.charset));
  const auto all = [&] { return std::accumulate(widths.begin(), widths.end(), columns.gap * widths.size()); };
  if (all() > shape.width) columns.gap = 1;
  while (all() > shape.width) {
    size_t* longest = nullptr;
    for (size_t column = 0; column < widths.size(); ++column)
      if (!table.columns[column].is_figure && (longest == nullptr || widths[column] > *longest))
        longest = &widths[column];
    if (longest == nullptr || *longest <= kFewest) break;
    --*longest;
  }
  return columns;
}

void PutRow(Screen& screen, size_t row, const LiveTable& table, const Columns& columns, Ink ink,
            const std::vector<std::string>& cells) {
  size_t at = 1;
  for (size_t column = 0; column < columns.widths.size(); ++column) {
    const size_t width = columns.widths[column];
    if (table.columns[column].is_figure) {
      screen.PutRight(row, at + width, cells[column], ink, width);
    } else {
      screen.Put(row, at, cells[column], ink, width);
    }
    at += width + columns.gap;
  }
}

}  // namespace

Screen ClassesPanel(const Watched& watched, PanelShape shape) {
  int highest = 4;
  const auto width_up_to = [](int rank) {
    size_t width = kClassName;
    for (const ClassColumn& column : kClassColumns) width += column.rank <= rank ? kGap + column.cells : 0;
    return width;
  };
  while (highest > 0 && width_up_to(highest) > shape.width) --highest;
  const size_t left = shape.width - std::min(shape.width, width_up_to(highest) + 1);
  const size_t spark = left >= kGap + kFewestSparkCells ? std::min<size_t>(left - kGap, 120) : 0;

  Screen screen(shape.width, 1 + kClasses.size(), shape.charset);
  for (size_t i = 0; i < kClasses.size(); ++i) screen.Put(1 + i, 1, kClasses[i].name, kClasses[i].ink);
  size_t at = kClassName;
  for (size_t c = 0; c < kClassColumns.size(); ++c) {
    const ClassColumn& column = kClassColumns[c];
    if (column.rank > highest) continue;
    at += kGap + column.cells;
    screen.PutRight(0, at, column.title, Ink::kSoft);
    for (size_t i = 0; i < kClasses.size(); ++i) {
      const LiveRow& now = watched.state.now;
      const Ink ink = c == 0 ? InkOf(now[kClasses[i].level] / now[kClasses[i].setpoint], Ink::kStrong) : Ink::kPlain;
      screen.PutRight(1 + i, at, column.text(now, kClasses[i]), ink, column.cells);
    }
    if (c != kSparkBehind || spark == 0) continue;
    at += kGap;
    const Duration shown = FromSeconds(kSecondsOfCell * static_cast<double>(spark));
    screen.Put(0, at, "the last " + ClockTime(shown) + " min", Ink::kSoft, spark);
    for (size_t i = 0; i < kClasses.size(); ++i)
      PutSpark(screen, 1 + i, at, Shares(watched.history, kClasses[i], spark), kClasses[i].ink);
    at += spark;
  }
  return screen;
}

Screen WordedPanel(const std::vector<WordedLine>& lines, size_t indent, PanelShape shape) {
  std::vector<std::vector<std::string>> texts;
  size_t height = 0;
  for (const WordedLine& line : lines) {
    texts.push_back(Wrapped(line.text, shape.width - std::min(shape.width, indent), shape.charset));
    height += std::max<size_t>(1, texts.back().size());
  }
  Screen screen(shape.width, height, shape.charset);
  size_t row = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    screen.Put(row, 1, lines[i].word, lines[i].ink);
    for (size_t j = 0; j < texts[i].size(); ++j) screen.Put(row + j, indent, texts[i][j]);
    row += std::max<size_t>(1, texts[i].size());
  }
  return screen;
}

Screen ReasonsPanel(const FeedState& state, PanelShape shape) {
  return WordedPanel({{kClasses[0].name, state.write, kClasses[0].ink},
                      {kClasses[1].name, state.bulk, kClasses[1].ink},
                      {kClasses[2].name, state.read, kClasses[2].ink}},
                     kClassName + 1, shape);
}

Screen FiguresPanel(const FeedState& state, PanelShape shape) {
  const LiveRow& now = state.now;
  const std::string answers = "OK in " + SecondsText(now[kOkP50]) + ", p99 " + SecondsText(now[kOkP99]) +
                              " · EOSE in " + SecondsText(now[kEoseP50]) + ", p99 " + SecondsText(now[kEoseP99]);
  const std::string load = "CPU " + CoresText(now[kCpu]) + " · memory " + BytesText(now[kMemory]) + " of " +
                           BytesText(now[kMemoryTarget]) + " · saved " + SpeedText(now[kBytesWrite]) + ", bulk " +
                           SpeedText(now[kBytesBulk]);
  const std::string clients = CountText(now[kConnections]) + " connections · " + CountText(now[kSubscriptions]) +
                              " subscriptions · in " + SpeedText(now[kReceived]) + " · out " + SpeedText(now[kSent]);
  return WordedPanel({{"answers", answers, Ink::kSoft}, {"load", load, Ink::kSoft}, {"clients", clients, Ink::kSoft}},
                     kClassName + 1, shape);
}

Screen TablePanel(const LiveTable& table, PanelShape shape, size_t rows) {
  rows = std::min(rows, table.rows.size());
  Screen screen(shape.width, rows == 0 ? 1 : 2 + rows, shape.charset);
  const size_t behind = screen.Put(0, 1, table.title, Ink::kStrong);
  if (rows == 0) {
    screen.Put(0, behind, ": " + table.empty, Ink::kSoft);
    return screen;
  }
  const uint64_t more = table.left_out + (table.rows.size() - rows);
  if (more > 0) screen.Put(0, behind, ", and " + std::to_string(more) + " more", Ink::kSoft);
  const Columns columns = ColumnsOf(table, rows, shape);
  std::vector<std::string> titles;
  for (const LiveColumn& column : table.columns) titles.push_back(column.title);
  PutRow(screen, 1, table, columns, Ink::kSoft, titles);
  for (size_t row = 0; row < rows; ++row) PutRow(screen, 2 + row, table, columns, Ink::kPlain, table.rows[row]);
  return screen;
}

size_t ColumnWidth(size_t width) {
  constexpr size_t kFewest = 64;
  return width >= 2 * kFewest + kGap ? (width - kGap) / 2 : width;
}

Screen Stacked(const std::vector<Screen>& panels, PanelShape shape) {
  size_t height = 0;
  for (const Screen& panel : panels) height += panel.height() + 1;
  Screen screen(shape.width, height == 0 ? 0 : height - 1, shape.charset);
  size_t row = 0;
  for (const Screen& panel : panels) {
    screen.Copy(panel, 0, panel.height(), row);
    row += panel.height() + 1;
  }
  return screen;
}

Screen InColumns(const std::vector<Screen>& panels, PanelShape shape) {
  const size_t width = ColumnWidth(shape.width);
  if (width == shape.width) return Stacked(panels, shape);
  size_t all = 0;
  for (const Screen& panel : panels) all += panel.height() + 1;
  // Puts panels into the left column, in their order, until it has half of all lines.
  std::vector<Screen> left;
  std::vector<Screen> right;
  size_t taken = 0;
  for (const Screen& panel : panels) {
    (2 * taken < all ? left : right).push_back(panel);
    taken += panel.height() + 1;
  }
  const Screen at_left = Stacked(left, {width, shape.charset});
  const Screen at_right = Stacked(right, {width, shape.charset});
  Screen screen(shape.width, std::max(at_left.height(), at_right.height()), shape.charset);
  screen.Copy(at_left, 0, at_left.height(), 0);
  screen.Copy(at_right, 0, at_right.height(), 0, width + kGap);
  return screen;
}

}  // namespace weir
