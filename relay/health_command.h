// weir health: asks a relay or a gate that runs whether it can serve.
#pragma once

namespace weir {

// argv[0] is "weir health". Exit code 0: it can; 1: it cannot, or does not answer; 2: wrong flags or settings.
int HealthCommand(int argc, char** argv);

}  // namespace weir
