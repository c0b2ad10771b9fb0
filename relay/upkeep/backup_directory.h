// BackupDirectory: the backups of one database in a directory.
//
//   DIR/2026-11-30T015947Z/    a backup, by the time (UTC) at which it was begun: a whole data directory, on which a
//                              relay can run
//     events/                  the database
//     standing                 what the relay knows of authors (relay/standing/), if there is such a file
//   DIR/2026-11-30T015947Z.part   a backup that is not complete. The next one takes the tables that are
//   DIR/2026-11-30T015947Z.gone   a backup that is being removed
//   DIR/backup.lock               held by the process that makes a backup
//
// Tables of RocksDB never change. So a backup has those that an earlier one has already, by hard links to these, and
// costs only the new ones. If the database is on the same file system, the new ones are links to its own tables and
// cost nothing. Elsewhere they are copied. A backup does not depend on others: any of them can be removed or served.
//
// A backup has neither the relay's token nor lock files, and nothing from outside the data directory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/held_file.h"
#include "config/status.h"
#include "relay/upkeep/table_files.h"

namespace weir {

struct BackupOrder {
  std::string data_dir;
  std::string checkpoint;  // a directory with a whole database that does not change
  uint64_t now_seconds = 0;
  AfterPiece after_piece;
};

struct BackupReport {
  std::string path;
  uint64_t shared_bytes = 0;  // size of the tables that an earlier backup has, too
  uint64_t linked_bytes = 0;  // size of the tables that are links to those of the database
  uint64_t copied_bytes = 0;
};

class BackupDirectory {
 public:
  // Makes the directory if only its last part is missing, and takes it for this process. Returns an error if it is the
  // data directory, is in it or is another one, if it has backups of another database, or if another process makes a
  // backup there.
  static Result<std::unique_ptr<BackupDirectory>> Take(const std::string& directory, const std::string& data_dir);

  // Makes a backup, which is on disk when the call returns. Returns an error, and leaves nothing behind, if the
  // directory has too little room or cannot be written.
  Result<BackupReport> Make(const BackupOrder& order);
  // Removes all but the newest `most` backups, and none on which a relay runs. Returns how many were removed.
  Result<size_t> Keep(size_t most);

 private:
  explicit BackupDirectory(std::string directory) : directory_(std::move(directory)) {}

  struct Copy {
    std::string from;
    std::string to;
    uint64_t bytes = 0;
  };
  Status Fill(const BackupOrder& order, const std::string& part, BackupReport* report) const;
  Result<std::vector<Copy>> LinkTables(const BackupOrder& order, const std::string& part, BackupReport* report) const;
  Status CheckRoom(uint64_t bytes) const;
  std::vector<std::string> WithEnding(std::string_view ending) const;

  const std::string directory_;
  HeldFile lock_;
};

// Returns the paths of the complete backups in the directory, the oldest first.
std::vector<std::string> BackupsIn(const std::string& directory);

}  // namespace weir
