// Draws the views of `weir top`: turns a Watched, the state and history of a relay, into a Screen, a grid of
// characters. These functions depend only on their arguments, and need no terminal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/clock.h"
#include "relay/watch/top/screen.h"
#include "relay/watch/top/watched.h"

namespace weir {

// The views that the user can choose with the keys 1 to 5, in the order of these keys.
enum class TopView : uint8_t { kOverview, kClients, kImports, kLimiters, kEngine };
inline constexpr std::array<std::string_view, 5> kTopViewNames = {"overview", "clients", "imports", "limiters",
                                                                  "engine"};

// The choices of the user, and the size and charset of the terminal.
struct Look {
  TopView view = TopView::kOverview;
  bool help = false;   // true: Draw shows the help instead of the view
  size_t scroll = 0;   // number of lines at the top of the view that are not shown
  bool keys = true;    // true: the last line lists the keys
  size_t width = 80;   // cells
  size_t height = 24;  // lines
  Charset charset = Charset::kUtf8;
};

struct Drawn {
  Screen screen;
  size_t page = 1;      // number of lines of the view that fit on the screen at once
  size_t furthest = 0;  // the value of Look::scroll at which the last line is shown
};

// Draws the part of the view that fits on the screen. A `scroll` beyond `furthest` counts as `furthest`. If Look::width
// is less than 20 or Look::height less than 5, draws only a note that the screen is too small.
Drawn Draw(const Watched& watched, const Look& look, TimePoint now);

// Draws the whole view on a screen that is as high as the view, without the line of keys. Uses at least 20 columns, and
// ignores Look::height and Look::scroll.
Screen DrawWhole(const Watched& watched, Look look, TimePoint now);

// Describes what is wrong with the connection to the relay. Returns an empty text if Watched::link is kLive.
std::string LinkInWords(const Watched& watched, TimePoint now);

}  // namespace weir
