// Draws what `weir top` shows: a Watched as a Screen. Needs no terminal, and uses only the values that are passed in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/clock.h"
#include "relay/top/screen.h"
#include "relay/top/watched.h"

namespace weir {

enum class TopView : uint8_t { kOverview, kClients, kImports, kLimiters, kEngine };
inline constexpr std::array<std::string_view, 5> kTopViewNames = {"overview", "clients", "imports", "limiters",
                                                                  "engine"};

struct Look {
  TopView view = TopView::kOverview;
  bool help = false;
  size_t scroll = 0;  // lines
  bool keys = true;   // the last line lists the keys
  size_t width = 80;
  size_t height = 24;
  Charset charset = Charset::kUtf8;
};

struct Drawn {
  Screen screen;
  size_t page = 1;      // number of lines that scroll
  size_t furthest = 0;  // the largest scroll that shows more
};

Drawn Draw(const Watched& watched, const Look& look, TimePoint now);

// Draws as many lines as it takes, without keys.
Screen DrawWhole(const Watched& watched, Look look, TimePoint now);

// Describes the connection to the relay in a sentence; empty if all is well.
std::string LinkInWords(const Watched& watched, TimePoint now);

}  // namespace weir
