// Draws what `weir top` shows: turns what is known about a relay (Watched) into a grid of characters (Screen). These
// functions depend only on their arguments, and need no terminal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/clock.h"
#include "relay/top/screen.h"
#include "relay/top/watched.h"

namespace weir {

// The views among which the user can choose, in the order of their keys, 1 to 5.
enum class TopView : uint8_t { kOverview, kClients, kImports, kLimiters, kEngine };
inline constexpr std::array<std::string_view, 5> kTopViewNames = {"overview", "clients", "imports", "limiters",
                                                                  "engine"};

// The choices of the user, and the terminal for which to draw.
struct Look {
  TopView view = TopView::kOverview;
  bool help = false;   // true: the help is shown instead of the view
  size_t scroll = 0;   // number of lines of the view that are above the screen
  bool keys = true;    // true: the last line lists the keys
  size_t width = 80;   // cells
  size_t height = 24;  // lines
  Charset charset = Charset::kUtf8;
};

struct Drawn {
  Screen screen;
  size_t page = 1;      // number of lines of the view that fit on the screen
  size_t furthest = 0;  // the value of Look::scroll that shows the last line
};

// Draws the part of the view that fits on the screen. A `scroll` beyond `furthest` counts as `furthest`. If the screen
// has fewer than 20 columns or 5 lines, only a note about that is drawn.
Drawn Draw(const Watched& watched, const Look& look, TimePoint now);

// Draws the whole view, as high as it is, without the line of keys. Uses at least 20 columns, and ignores the height
// and the scroll of `look`.
Screen DrawWhole(const Watched& watched, Look look, TimePoint now);

// Describes what is wrong with the connection to the relay; empty if nothing is (kLive).
std::string LinkInWords(const Watched& watched, TimePoint now);

}  // namespace weir
