#include "bench/simulator/plot.h"

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

std::string Braille(unsigned bits) {
  const unsigned code = 0x2800 + bits;
  return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

// The lowest and highest dot of a column of dots; no dots if low > high.
struct Stroke {
  int low = 1;
  int high = 0;
};

// Each column of dots goes from the lowest to the highest value in its part of the time, so no peak is lost.
std::vector<Stroke> Trace(const std::vector<double>& values, double top, int dots_wide, int dots_high) {
  const auto count = static_cast<double>(values.size());
  const auto dot = [&](double v) {
    return std::clamp(static_cast<int>(std::lround(v / top * (dots_high - 1))), 0, dots_high - 1);
  };
  std::vector<Stroke> strokes(static_cast<size_t>(dots_wide));
  for (int x = 0; x < dots_wide; ++x) {
    const auto begin = static_cast<size_t>(count * x / dots_wide);
    const auto end = std::max(begin + 1, static_cast<size_t>(count * (x + 1) / dots_wide));
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (size_t i = begin; i < std::min(end, values.size()); ++i) {
      if (std::isnan(values[i])) continue;
      low = std::min(low, values[i]);
      high = std::max(high, values[i]);
    }
    if (low <= high) strokes[static_cast<size_t>(x)] = {dot(low), dot(high)};
  }
  return strokes;
}

// One row of characters; its lowest dots stand at height `bottom`. A character is one dot, or in Unicode two by four.
std::string RowOf(const std::vector<Stroke>& strokes, int bottom, bool unicode, const std::string& empty) {
  // Braille numbers its dots down the left column, then down the right, then the bottom two.
  static constexpr unsigned kBits[4][2] = {{0x40, 0x80}, {0x04, 0x20}, {0x02, 0x10}, {0x01, 0x08}};
  const size_t wide = unicode ? 2 : 1;
  const int high = unicode ? 4 : 1;
  std::string text;
  for (size_t first = 0; first < strokes.size(); first += wide) {
    unsigned bits = 0;
    for (size_t x = 0; x < wide; ++x)
      for (int y = 0; y < high; ++y)
        if (strokes[first + x].low <= bottom + y && bottom + y <= strokes[first + x].high) bits |= kBits[y][x];
    text += bits == 0 ? empty : unicode ? Braille(bits) : "*";
  }
  return text;
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

std::string Draw(const Curve& curve, const Terminal& terminal, bool time_axis) {
  const int columns = std::clamp(terminal.width, kNarrowest, kWidest) - kScaleWidth - 2;
  const int dots_high = curve.rows * (terminal.unicode ? 4 : 1);
  double top = curve.reference;
  for (const double v : curve.values)
    if (!std::isnan(v)) top = std::max(top, v);
  if (top <= 0) top = 1;
  const std::vector<Stroke> strokes = Trace(curve.values, top, columns * (terminal.unicode ? 2 : 1), dots_high);

  const auto row_of = [&](int y) { return curve.rows - 1 - y * curve.rows / dots_high; };
  const int reference_dot = static_cast<int>(std::lround(curve.reference / top * (dots_high - 1)));
  const int reference_row = curve.reference > 0 ? row_of(reference_dot) : -1;
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
    text += RowOf(strokes, (curve.rows - 1 - row) * dots_high / curve.rows, terminal.unicode,
                  line ? (terminal.unicode ? "╌" : "-") : " ");
    if (line && terminal.colour) text += "\033[0m";
    text += "\n";
  }
  return time_axis ? text + TimeAxis(curve.seconds, columns) : text;
}

}  // namespace weir
