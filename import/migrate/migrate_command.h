// weir migrate: copies the database of a data directory into a PostgreSQL.
#pragma once

namespace weir {

int MigrateCommand(int argc, char** argv);

}  // namespace weir
