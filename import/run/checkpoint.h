// Checkpoint: how far an import has come, so that --resume can go on from there. Everything before it is stored and on
// disk, and every line that was rejected before it is in the rejects file.
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
  std::vector<std::string> inputs;  // absolute, for readers of the file
  std::vector<std::string> names;   // the same as the user named them and as the rejects file has them
  uint32_t input = 0;               // the index of the current one
  Place place;
  std::string tail;  // Tail::Hex of the bytes before it (source.h); empty at the start of an input
  Tally tally;
  std::string rejects;  // absolute path of the rejects file; empty: none is kept
  uint64_t rejects_bytes = 0;
  std::string database;  // the one that has what came before; empty: that of the relay that was named
};

std::string ToJson(const Checkpoint& checkpoint);
// The error completes "the checkpoint … ": "is damaged: …", "is of version 2, this program knows 1".
Result<Checkpoint> ParseCheckpoint(std::string_view json);

// These functions name the same file for the same inputs, whatever directory they were named from and through whatever
// links; "-" is standard input. `relay` is what the user named, or empty.
std::string AbsolutePath(const std::string& path);
std::vector<std::string> AbsolutePaths(const std::vector<std::string>& inputs);
std::string CheckpointName(const std::vector<std::string>& absolute_inputs, std::string_view relay);

// The file in which a checkpoint is kept. Not thread-safe.
class CheckpointFile {
 public:
  explicit CheckpointFile(std::string path) : path_(std::move(path)) {}
  ~CheckpointFile() { lock_.Remove(); }
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;

  // Keeps other imports from it until this object is gone: two would write the same file, and each other's rejects.
  Status Hold();
  // Returns nothing if there is no file.
  Result<std::optional<Checkpoint>> Read() const;
  // Returns ok when the checkpoint is on disk. On an error the checkpoint before it is unchanged.
  Status Write(const Checkpoint& checkpoint) const;
  Status Remove() const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  HeldFile lock_;
};

}  // namespace weir
