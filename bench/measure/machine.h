// Describes the machine and the day of a measurement, for its figures: processor, cores, memory, kernel, compiler.
#pragma once

#include <string>

namespace weir {

// Returns a few lines of "what: value", without the machine's name.
std::string DescribeMachine();

}  // namespace weir
