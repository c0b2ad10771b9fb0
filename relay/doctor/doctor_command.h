// weir doctor: says what to change, and why, about the settings, the machine, the database and the running relay or
// gate.
#pragma once

namespace weir {

// The exit status if the flags are wrong, or if --as-running finds no relay. Other commands return 2 for wrong flags.
inline constexpr int kDoctorNotAsked = 64;
// Returns the exit status: 0 if there is nothing to change, 1 for advice, 2 for a warning, 3 if something is broken.
// The worst finding counts; findings of checks that --ignore names do not. argv[0] is "weir doctor".
int DoctorCommand(int argc, char** argv);

}  // namespace weir
