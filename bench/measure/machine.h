// Describes the machine and the date of a measurement: date, processor, cores, memory, kernel, compiler.
#pragma once

#include <string>

namespace weir {

// Returns a few lines of "name: value", without the host name.
std::string DescribeMachine();

}  // namespace weir
