// weir who: asks the running relay for the standing of authors, and explains it.
#pragma once

namespace weir {

// Returns the exit status 0 if the relay has answered for every key, 1 if it has not, and 2 if a flag, a key or a
// setting is wrong. argv[0] is "weir who".
int WhoCommand(int argc, char** argv);

}  // namespace weir
