// weir compact: rewrites the database of a relay without what was removed, in the running relay or without it.
#pragma once

namespace weir {

// Returns the exit status: 0 if the database is compacted; 1 if it is not, or not wholly; 2 if flags or settings are
// wrong, or the events are in PostgreSQL. argv[0] is "weir compact".
int CompactCommand(int argc, char** argv);

}  // namespace weir
