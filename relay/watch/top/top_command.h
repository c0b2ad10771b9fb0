// weir top: shows in a terminal what the page at /live shows.
#pragma once

namespace weir {

// Returns the exit status. 0: the user ended the program by a key or a signal, the reader of the output is gone, or
// --once or --help is done. 1: the first attempt did not reach the relay, the relay refused the first request, or
// output failed. 2: flags or settings are wrong, or standard output is closed. argv[0] is "weir top".
int TopCommand(int argc, char** argv);

}  // namespace weir
