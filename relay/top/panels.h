// The panels from which `weir top` builds its views. Each is a Screen (screen.h) of its own, as high as its contents.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "relay/metrics/live_tables.h"
#include "relay/top/screen.h"
#include "relay/top/watched.h"

namespace weir {

struct PanelShape {
  size_t width;  // in cells
  Charset charset;
};

// Shows, for writes, bulk and reads, the level and its setpoint, a plot of the last minutes, and what the gates do.
Screen ClassesPanel(const Watched& watched, PanelShape shape);
// Shows for each class of work what limits it, or comes nearest to limiting it.
Screen ReasonsPanel(const FeedState& state, PanelShape shape);
// Shows latencies, load and clients, in one entry each.
Screen FiguresPanel(const FeedState& state, PanelShape shape);
// Shows at most `rows` of the table's rows, or the text for an empty table.
Screen TablePanel(const LiveTable& table, PanelShape shape, size_t rows = LiveTable::kMostRows);
// An entry of WordedPanel: a word at the left, and a text beside it.
struct WordedLine {
  std::string_view word;
  std::string_view text;
  Ink ink = Ink::kPlain;  // colour of the word
};
// Shows the entries one below the other. The texts begin at the column `indent`; long texts are broken into lines.
Screen WordedPanel(const std::vector<WordedLine>& lines, size_t indent, PanelShape shape);

// Puts the panels one below the other, with an empty line between them.
Screen Stacked(const std::vector<Screen>& panels, PanelShape shape);
// Puts the panels into two columns, or one below the other if the width has no room for two. Each panel must have the
// width ColumnWidth(shape.width).
Screen InColumns(const std::vector<Screen>& panels, PanelShape shape);
// Returns the width of a panel for InColumns, if the whole screen has `width` cells.
size_t ColumnWidth(size_t width);

}  // namespace weir
