// weir info: says what takes the room in a relay's store, how fast it grows, and how much a rule of age would remove.
#pragma once

namespace weir {

// Returns the exit status: 0 on success; 1 if reading or printing failed; 2 if flags are wrong or the store cannot be
// opened. argv[0] is "weir info".
int InfoCommand(int argc, char** argv);

}  // namespace weir
