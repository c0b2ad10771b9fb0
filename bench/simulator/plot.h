// Draws curves in a terminal. A character shows two by four dots (braille) if the terminal has Unicode, else one star.
#pragma once

#include <string>
#include <vector>

namespace weir {

struct Terminal {
  int width = 80;
  bool unicode = false;
  bool colour = false;
};

struct Curve {
  std::string title;
  std::vector<double> values;  // evenly spaced; NaN leaves a gap
  double seconds = 0;          // length of the time axis
  int rows = 8;
  double reference = 0;  // value of a horizontal line to compare with; 0: no line
  std::string reference_name;
};

// Returns the title and the plot, with a scale on its left from 0 to the highest value (or to `reference`, if that is
// higher), and with a time axis if `time_axis` is true.
std::string Draw(const Curve& curve, const Terminal& terminal, bool time_axis);

}  // namespace weir
