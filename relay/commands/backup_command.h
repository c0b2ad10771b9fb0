// weir backup: copies the database of a relay into a directory of backups, while the relay runs or without it.
#pragma once

namespace weir {

// Returns the exit status: 0 if the backup is made; 1 if it is not; 2 if flags or settings are wrong, or the events are
// in PostgreSQL. argv[0] is "weir backup".
int BackupCommand(int argc, char** argv);

}  // namespace weir
