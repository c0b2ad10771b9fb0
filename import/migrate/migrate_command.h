// weir migrate: from the database of a data directory to a PostgreSQL.
#pragma once

namespace weir {

int MigrateCommand(int argc, char** argv);

}  // namespace weir
