// `weir migrate`: copies a RocksDB database into a PostgreSQL database, then compares the two.
#pragma once

namespace weir {

// Runs the command and returns its exit status.
int MigrateCommand(int argc, char** argv);

}  // namespace weir
