// weir doctor: says what to change about settings, machine, database and the relay or gate that runs, and why.
#pragma once

namespace weir {

// Returns 0 if there is nothing to change, 1 for advice, 2 for a warning, 3 if something is broken; kDoctorNotAsked if
// it was asked for something wrong, for which other commands return 2.
inline constexpr int kDoctorNotAsked = 64;
int DoctorCommand(int argc, char** argv);

}  // namespace weir
