// CheckpointPlace: the place in the directory of a database at which `weir backup` gets a checkpoint
// (relay/store/database_checkpoint.h), so that it can copy files that never change, whatever happens to the database
// and to the relay meanwhile.
//
//   <database>/checkpoint        the checkpoint
//   <database>/checkpoint.lock   held by the process that uses the place
//
// The process that runs the database makes the checkpoint: the relay when it is asked, or `weir backup` itself if no
// process has the database open. The relay removes a checkpoint that no process uses any more, because it keeps tables
// on the disk that the database needs no more.
#pragma once

#include <memory>
#include <string>

#include "config/held_file.h"
#include "config/status.h"

namespace weir {

class CheckpointPlace {
 public:
  // Takes the place for this process, and removes what an earlier one left there. Returns an error if another process
  // has the place, or if this one may not write to the database's directory.
  static Result<std::unique_ptr<CheckpointPlace>> Take(const std::string& database);
  // Removes the checkpoint, and gives the place back.
  ~CheckpointPlace();
  CheckpointPlace(const CheckpointPlace&) = delete;
  CheckpointPlace& operator=(const CheckpointPlace&) = delete;

  const std::string& checkpoint() const { return checkpoint_; }

  static std::string CheckpointIn(const std::string& database) { return database + "/checkpoint"; }
  // Returns true if a process has the place.
  static bool IsTaken(const std::string& database);
  // Removes the checkpoint if no process has the place.
  static Status RemoveAbandoned(const std::string& database);

 private:
  explicit CheckpointPlace(std::string checkpoint) : checkpoint_(std::move(checkpoint)) {}

  const std::string checkpoint_;
  HeldFile lock_;
};

}  // namespace weir
