// weir scan: reads the database of a relay and prints the stored events that match filters.
#pragma once

namespace weir {

// Returns the exit status: 0 on success; 1 if reading or printing failed; 2 if flags or filters are wrong or the store
// cannot be opened. argv[0] is "weir scan".
int ScanCommand(int argc, char** argv);

}  // namespace weir
