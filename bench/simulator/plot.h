// Curves in a terminal: two by four dots a character where it knows Unicode, a star a character where it does not.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace weir {

struct Terminal {
  int width = 80;
  bool unicode = false;
  bool colour = false;
};

// What standard output is: its width when it is a terminal (else 80), Unicode by the locale, colour on a terminal
// unless NO_COLOR is set.
Terminal TerminalOfStdout(const Environment& environment);

struct Curve {
  std::string title;
  std::vector<double> values;  // evenly spaced; NaN leaves a gap
  double seconds = 0;          // what the width stands for
  int rows = 8;
  double reference = 0;  // a line to compare with, when above 0
  std::string reference_name;
};

// Title, plot with a scale on its left, and with a time axis where asked for. From 0 to the highest value.
std::string Draw(const Curve& curve, const Terminal& terminal, bool time_axis);

}  // namespace weir
