// `weir migrate`: copies the database of a data directory into a PostgreSQL.
#pragma once

namespace weir {

// Runs the command and returns its exit status.
int MigrateCommand(int argc, char** argv);

}  // namespace weir
