// Checkpoint: the place that an import has reached, so that `weir import --resume` can continue there. All lines before
// the place are settled (import/settled.h): their events are on disk, and the rejected lines are in the rejects file on
// disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/held_file.h"
#include "config/status.h"
#include "import/input/chunk.h"
#include "import/tally.h"

namespace weir {

struct Checkpoint {
  std::vector<std::string> inputs;  // absolute paths, for people who read the file
  std::vector<std::string> names;   // the same inputs as the user named them and as the rejects file has them
  uint32_t input = 0;               // index of the input in which `place` is
  Place place;                      // the place that the import has reached
  // Hash of the last bytes before the place (Tail::Hex in import/input/tail.h), by which a resumed import notices that
  // the input has changed; empty at the start of an input.
  std::string tail;
  Tally tally;                 // outcomes of all lines before the place
  std::string rejects;         // absolute path of the rejects file; empty: rejected lines are not kept
  uint64_t rejects_bytes = 0;  // length of the rejects file when the import had reached the place
  std::string rejects_mark;    // RejectsFile::mark(); empty in a checkpoint of an earlier weir
  // Identity of the database that stores the events. Empty if --relay names the relay: then it is not known.
  std::string database;
};

std::string ToJson(const Checkpoint& checkpoint);
// Returns the checkpoint, or an error that completes a sentence "the checkpoint …": "is damaged: …", "is of version 2,
// this program knows 1".
Result<Checkpoint> ParseCheckpoint(std::string_view json);

// Returns the absolute path without symbolic links, so that it does not depend on the current directory. Keeps a link
// that leads to no file, such as that of a pipe in /dev/fd.
std::string AbsolutePath(const std::string& path);
// Returns AbsolutePath for each input; "-", standard input, stays as it is.
std::vector<std::string> AbsolutePaths(const std::vector<std::string>& inputs);
// Returns the file name of the checkpoint for these inputs and this relay. `relay` is the URL that the user gave with
// --relay, or empty.
std::string CheckpointName(const std::vector<std::string>& absolute_inputs, std::string_view relay);

// The file of a checkpoint, and a lock file beside it. Not thread-safe.
class CheckpointFile {
 public:
  explicit CheckpointFile(std::string path) : path_(std::move(path)) {}
  ~CheckpointFile() { lock_.Remove(); }
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;

  // Locks the lock file, path() + ".lock", until this object is destroyed, because two imports of the same inputs would
  // overwrite each other's checkpoint and cut each other's rejects. Returns an error if another import holds the lock,
  // or if the lock file cannot be created.
  Status Hold();
  // Returns the checkpoint, nullopt if there is no file, or an error if it cannot be read or is damaged.
  Result<std::optional<Checkpoint>> Read() const;
  // Replaces the checkpoint. After a success the new one is on disk; after an error the old one is unchanged.
  Status Write(const Checkpoint& checkpoint) const;
  // Deletes the file. Returns success if there is none.
  Status Remove() const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  HeldFile lock_;
};

}  // namespace weir
