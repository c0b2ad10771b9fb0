// Curves in a terminal: two by four dots a character if it knows Unicode, else a star a character.
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

// Describes standard output: its width if it is a terminal (else 80), Unicode by the locale, colour on a terminal
// unless NO_COLOR is set.
Terminal TerminalOfStdout(const Environment& environment);

struct Curve {
  std::string title;
  std::vector<double> values;  // evenly spaced; NaN leaves a gap
  double seconds = 0;          // the time that the width stands for
  int rows = 8;
  double reference = 0;  // a line to compare with, when above 0
  std::string reference_name;
};

// Returns the title and the plot, with a scale on its left and a time axis if asked for. The scale goes from 0 to the
// highest value.
std::string Draw(const Curve& curve, const Terminal& terminal, bool time_axis);

}  // namespace weir
