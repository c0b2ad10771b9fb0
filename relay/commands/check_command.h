// weir check: checks that the RocksDB database of a relay is whole, or compares it with another one.
#pragma once

namespace weir {

// Returns the exit status: 0 if the database is whole, or equal to the other one; 1 if it is damaged, or different; 2
// if the flags are wrong, if a database cannot be read, or if the events are in PostgreSQL. argv[0] is "weir check".
int CheckCommand(int argc, char** argv);

}  // namespace weir
