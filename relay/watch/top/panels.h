// Makes the panels of which the views of `weir top` consist. Each panel is a Screen (screen.h), as high as its
// contents.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "relay/observe/metrics/live_tables.h"
#include "relay/watch/top/screen.h"
#include "relay/watch/top/watched.h"

namespace weir {

struct PanelShape {
  size_t width;  // in cells
  Charset charset;
};

// Shows, for writes, bulk work and reads: the level and its setpoint, a plot of the level over the last minutes, and
// how many operations pass, are refused and wait.
Screen ClassesPanel(const Watched& watched, PanelShape shape);
// Shows for each class of work what limits this class, or comes nearest to limiting it.
Screen ReasonsPanel(const FeedState& state, PanelShape shape);
// Shows three lines of figures: latencies, load, and clients.
Screen FiguresPanel(const FeedState& state, PanelShape shape);
// Shows the first `rows` rows of the table; if the table has no rows, shows LiveTable::empty.
Screen TablePanel(const LiveTable& table, PanelShape shape, size_t rows = LiveTable::kMostRows);
// An entry of WordedPanel: a word on the left, and a text on the right of it.
struct WordedLine {
  std::string_view word;
  std::string_view text;
  Ink ink = Ink::kPlain;  // colour of the word
};
// Shows the entries one below the other. All texts begin at the column `indent`; a long text takes several lines.
Screen WordedPanel(const std::vector<WordedLine>& lines, size_t indent, PanelShape shape);

// Puts the panels one below the other, with an empty line between them.
Screen Stacked(const std::vector<Screen>& panels, PanelShape shape);
// Puts the panels into two columns or, if shape.width is less than 130 cells, one below the other. Each panel must have
// the width ColumnWidth(shape.width).
Screen InColumns(const std::vector<Screen>& panels, PanelShape shape);
// Returns the width that InColumns requires of a panel, if the screen is `width` cells wide.
size_t ColumnWidth(size_t width);

}  // namespace weir
