// What `weir top` shows: a Watched as a Screen. Without a terminal, and of the values that are handed in alone.
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
  bool keys = true;   // the last line tells them
  size_t width = 80;
  size_t height = 24;
  Charset charset = Charset::kUtf8;
};

struct Drawn {
  Screen screen;
  size_t page = 1;      // lines of it that scroll
  size_t furthest = 0;  // the largest scroll that shows more
};

Drawn Draw(const Watched& watched, const Look& look, TimePoint now);

// As many lines as it takes, without keys.
Screen DrawWhole(const Watched& watched, Look look, TimePoint now);

// How the way to the relay is, in a sentence; empty where all is well.
std::string LinkInWords(const Watched& watched, TimePoint now);

}  // namespace weir
