// Finds the files that a RocksDB leaves behind: its LOG, those that were rolled (LOG.old.<microseconds>), and the
// newest OPTIONS-<number>.
#pragma once

#include <string>
#include <vector>

#include "config/status.h"

namespace weir {

// The files of one database.
struct DatabaseFiles {
  std::string name;               // directory or file, as the user wrote it
  std::vector<std::string> logs;  // in the order of their time; "-" is standard input
  std::string options;            // empty: none
};

// `paths` are directories, files or "-". Files of one directory belong to one database, except those of other names
// than RocksDB's, each of which is a LOG of its own. A directory may have the LOGs of several databases
// (Options::db_log_dir): RocksDB then puts the path of each before "_LOG". Returns an error if one of the paths is not
// there, or is a directory without such files.
Result<std::vector<DatabaseFiles>> FindDatabaseFiles(const std::vector<std::string>& paths);

}  // namespace weir
