// weir doctor: looks at the settings, the machine, the database and the running relay or gate, and says what the
// operator should change, and why.
#pragma once

namespace weir {

// The exit status if the flags are wrong, or if --as-running finds no relay or may not look at its process. Other
// commands return 2 for wrong flags.
inline constexpr int kDoctorNotAsked = 64;
// Returns the exit status, which is kDoctorNotAsked or depends on the worst finding: 0 if there is none, 1 for advice,
// 2 for a warning, 3 if something is broken. Leaves out the checks that --ignore names. argv[0] is "weir doctor".
int DoctorCommand(int argc, char** argv);

}  // namespace weir
