#include "bench/simulator/plot.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace weir {
namespace {

constexpr int kScaleWidth = 8;
constexpr int kNarrowest = 40;
constexpr int kWidest = 200;

std::string Formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Dots on a raster; a character cell holds cell_width × cell_height of them.
class Canvas {
 public:
  Canvas(int columns, int rows, bool unicode)
      : columns_(columns),
        rows_(rows),
        unicode_(unicode),
        width_(unicode ? 2 : 1),
        height_(unicode ? 4 : 1),
        cells_(static_cast<size_t>(columns * rows)) {}

  int dots_wide() const { return columns_ * width_; }
  int dots_high() const { return rows_ * height_; }

  // (0, 0) is at the bottom left.
  void Set(int x, int y) {
    const int row = RowOf(y);
    // Braille numbers its dots down the left column, then down the right, then the bottom two.
    static constexpr unsigned kBits[4][2] = {{0x40, 0x80}, {0x04, 0x20}, {0x02, 0x10}, {0x01, 0x08}};
    cells_[CellOf(row, x / width_)] |= unicode_ ? kBits[y % 4][x % 2] : 1;
  }

  int RowOf(int y) const { return rows_ - 1 - y / height_; }

  size_t CellOf(int row, int column) const {
    return static_cast<size_t>(row) * static_cast<size_t>(columns_) + static_cast<size_t>(column);
  }

  std::string Row(int row, const std::string& empty) const {
    std::string text;
    for (int column = 0; column < columns_; ++column) {
      const unsigned bits = cells_[CellOf(row, column)];
      text += bits == 0 ? empty : unicode_ ? Braille(bits) : "*";
    }
    return text;
  }

 private:
  static std::string Braille(unsigned bits) {
    const unsigned code = 0x2800 + bits;
    return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
            static_cast<char>(0x80 | (code & 0x3F))};
  }

  int columns_;
  int rows_;
  bool unicode_;
  int width_;
  int height_;
  std::vector<unsigned> cells_;
};

// Each column of dots shows all that happened in its stretch of time, so no peak is lost.
void Trace(const std::vector<double>& values, double top, Canvas* canvas) {
  const auto count = static_cast<double>(values.size());
  for (int x = 0; x < canvas->dots_wide(); ++x) {
    const auto begin = static_cast<size_t>(count * x / canvas->dots_wide());
    const auto end = std::max(begin + 1, static_cast<size_t>(count * (x + 1) / canvas->dots_wide()));
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (size_t i = begin; i < std::min(end, values.size()); ++i) {
      if (std::isnan(values[i])) continue;
      low = std::min(low, values[i]);
      high = std::max(high, values[i]);
    }
    if (low > high) continue;
    const auto dot = [&](double v) {
      return std::clamp(static_cast<int>(std::lround(v / top * (canvas->dots_high() - 1))), 0, canvas->dots_high() - 1);
    };
    for (int y = dot(low); y <= dot(high); ++y) canvas->Set(x, y);
  }
}

std::string TimeAxis(double seconds, int columns) {
  std::string axis(static_cast<size_t>(columns), ' ');
  constexpr int kMarks = 4;
  for (int i = 0; i <= kMarks; ++i) {
    const std::string text = Formatted("%.0f s", seconds * i / kMarks);
    const int at = std::min(columns - static_cast<int>(text.size()), columns * i / kMarks);
    axis.replace(static_cast<size_t>(std::max(0, at)), text.size(), text);
  }
  return std::string(kScaleWidth + 1, ' ') + axis + "\n";
}

}  // namespace

Terminal TerminalOfStdout(const Environment& environment) {
  Terminal terminal;
  winsize size{};
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  terminal.colour = is_terminal && environment.find("NO_COLOR") == environment.end();
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto found = environment.find(name);
    if (found == environment.end() || found->second.empty()) continue;
    terminal.unicode =
        found->second.find("UTF-8") != std::string::npos || found->second.find("utf8") != std::string::npos;
    break;
  }
  return terminal;
}

std::string Draw(const Curve& curve, const Terminal& terminal, bool time_axis) {
  const int columns = std::clamp(terminal.width, kNarrowest, kWidest) - kScaleWidth - 2;
  Canvas canvas(columns, curve.rows, terminal.unicode);
  double top = curve.reference;
  for (const double v : curve.values)
    if (!std::isnan(v)) top = std::max(top, v);
  if (top <= 0) top = 1;
  Trace(curve.values, top, &canvas);

  const int reference_dot = static_cast<int>(std::lround(curve.reference / top * (canvas.dots_high() - 1)));
  const int reference_row = curve.reference > 0 ? canvas.RowOf(reference_dot) : -1;
  const std::string bar = terminal.unicode ? "│" : "|";
  std::string text = curve.title;
  if (reference_row >= 0) text += "; " + std::string(terminal.unicode ? "╌" : "-") + " " + curve.reference_name;
  text += "\n";
  for (int row = 0; row < curve.rows; ++row) {
    const bool scaled = row == 0 || row == curve.rows - 1 || row == reference_row;
    const double value = row == reference_row ? curve.reference : row == 0 ? top : 0;
    text += (scaled ? Formatted("%8.2f", value) : std::string(kScaleWidth, ' ')) + bar;
    const bool line = row == reference_row;
    if (line && terminal.colour) text += "\033[33m";
    text += canvas.Row(row, line ? (terminal.unicode ? "╌" : "-") : " ");
    if (line && terminal.colour) text += "\033[0m";
    text += "\n";
  }
  return time_axis ? text + TimeAxis(curve.seconds, columns) : text;
}

}  // namespace weir
