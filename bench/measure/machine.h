// The machine and the day that figures are from, to stand beside them: processor, cores, memory, kernel, compiler.
#pragma once

#include <string>

namespace weir {

// A few lines of "what: value". Nothing that names the machine.
std::string DescribeMachine();

}  // namespace weir
