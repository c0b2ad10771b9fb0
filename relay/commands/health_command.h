// weir health: asks a running relay or gate whether it can serve clients (GET /readyz).
#pragma once

namespace weir {

// Returns the exit status: 0 if the relay or gate can serve; 1 if it cannot, or does not answer within three seconds; 2
// if flags or settings are wrong. argv[0] is "weir health".
int HealthCommand(int argc, char** argv);

}  // namespace weir
