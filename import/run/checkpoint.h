// Checkpoint: how far an import has come, for --resume to go on from there. All before it is stored and on disk, and
// every line that was rejected before it is in the rejects file.
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
  std::vector<std::string> inputs;  // absolute, for whoever reads the file
  std::vector<std::string> names;   // the same as the user named them, as the rejects file has them
  uint32_t input = 0;               // in which of them
  Place place;
  std::string tail;  // what stands before it (source.h); empty at the begin of an input
  Tally tally;
  std::string rejects;  // absolute path of the rejects file; empty: none is kept
  uint64_t rejects_bytes = 0;
  std::string database;  // which one has what came before; empty: whatever the relay has that was named
};

std::string ToJson(const Checkpoint& checkpoint);
// The error completes "the checkpoint … ": "is damaged: …", "is of version 2, this program knows 1".
Result<Checkpoint> ParseCheckpoint(std::string_view json);

// The same file for the same inputs, whatever directory they were named from and through whatever links; "-" is
// standard input. `relay` is what the user named, or empty.
std::string AbsolutePath(const std::string& path);
std::vector<std::string> AbsolutePaths(const std::vector<std::string>& inputs);
std::string CheckpointName(const std::vector<std::string>& absolute_inputs, std::string_view relay);

// The file it is kept in. Not thread-safe.
class CheckpointFile {
 public:
  explicit CheckpointFile(std::string path) : path_(std::move(path)) {}
  ~CheckpointFile() { lock_.Remove(); }
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;

  // No other import has it until this object is gone: two would write the same file, and each other's rejects.
  Status Hold();
  // Nothing where there is no file.
  Result<std::optional<Checkpoint>> Read() const;
  // When it returns without error the checkpoint is on disk; on error the one before is there as it was.
  Status Write(const Checkpoint& checkpoint) const;
  Status Remove() const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  HeldFile lock_;
};

}  // namespace weir
