// weir top: shows in a terminal what the page at /live shows.
#pragma once

namespace weir {

// argv[0] is "weir top". Exit code 0: it was ended; 1: the relay was not reached, or has refused, at the first attempt,
// or output failed; 2: wrong flags or settings.
int TopCommand(int argc, char** argv);

}  // namespace weir
