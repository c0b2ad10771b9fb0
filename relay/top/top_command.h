// weir top: shows in a terminal what the page at /live shows.
#pragma once

namespace weir {

// Returns the exit status: 0 if a key, a signal or the end of the output's reader ended the program; 1 if the first
// attempt did not reach the relay or was refused, or if output failed; 2 if flags or settings are wrong, or standard
// output is closed. argv[0] is "weir top".
int TopCommand(int argc, char** argv);

}  // namespace weir
