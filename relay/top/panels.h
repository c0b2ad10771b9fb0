// The panels of a view of `weir top`: each is a Screen of its own, as high as it has to be.
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

// For writes, bulk and reads: the level against its setpoint, now and before, and what the gates do.
Screen ClassesPanel(const Watched& watched, PanelShape shape);
// The reason that limits each class.
Screen ReasonsPanel(const FeedState& state, PanelShape shape);
// Latencies, load, clients: a line each.
Screen FiguresPanel(const FeedState& state, PanelShape shape);
// Shows at most `rows` of the table's rows.
Screen TablePanel(const LiveTable& table, PanelShape shape, size_t rows = LiveTable::kMostRows);
// Lines of text, each behind a word at the left. Long lines are broken.
struct WordedLine {
  std::string_view word;
  std::string_view text;
  Ink ink = Ink::kPlain;  // colours the word
};
Screen WordedPanel(const std::vector<WordedLine>& lines, size_t indent, PanelShape shape);

// Stacked puts panels one below the other, with an empty line between them. InColumns puts them in two columns if the
// width has room for that.
Screen Stacked(const std::vector<Screen>& panels, PanelShape shape);
Screen InColumns(const std::vector<Screen>& panels, PanelShape shape);
// The width of a panel in InColumns.
size_t ColumnWidth(size_t width);

}  // namespace weir
