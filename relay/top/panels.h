// The parts that a view of `weir top` is made of: each a Screen of its own, as high as it has to be.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "relay/metrics/live_tables.h"
#include "relay/top/screen.h"
#include "relay/top/watched.h"

namespace weir {

struct PanelShape {
  size_t width;
  Charset charset;
};

// Of writes, bulk and reads the level against its setpoint, now and before, and what the gates do.
Screen ClassesPanel(const Watched& watched, PanelShape shape);
// Of each class what limits it.
Screen ReasonsPanel(const FeedState& state, PanelShape shape);
// Latencies, load, clients: a line each.
Screen FiguresPanel(const FeedState& state, PanelShape shape);
// Of its rows so many at most.
Screen TablePanel(const LiveTable& table, PanelShape shape, size_t rows = LiveTable::kMostRows);
// Lines of text, broken where they are too long, behind a word each that stands at the left.
struct WordedLine {
  std::string_view word;
  std::string_view text;
  Ink ink = Ink::kPlain;  // of the word
};
Screen WordedPanel(const std::vector<WordedLine>& lines, size_t indent, PanelShape shape);

// One below the other with a line between them, or in two columns where `width` has room for that.
Screen Stacked(const std::vector<Screen>& panels, PanelShape shape);
Screen InColumns(const std::vector<Screen>& panels, PanelShape shape);
// The width that a panel has in them.
size_t ColumnWidth(size_t width);

}  // namespace weir
