// YamlStateFile: the file of a YAML store (yaml_store.h). One process at a time holds it, and replaces it as a whole.
// Private to the YAML store.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/held_file.h"
#include "config/status.h"

namespace weir {

class YamlStateFile {
 public:
  // Makes the file's directory if it is missing, and takes the lock PATH.lock, which is held until this object is
  // destroyed. The file itself may be missing, and is not made. If another process holds the lock, the error names that
  // process.
  static Result<std::unique_ptr<YamlStateFile>> Take(const std::string& path);

  const std::string& path() const { return path_; }
  // Returns the text of the file; nothing if there is no file. Stops reading once it has more than `most` bytes; so a
  // result that is longer than `most` says that the file is too long.
  Result<std::optional<std::string>> Read(size_t most) const;
  // Replaces the file (config/replace_file.h). If that fails, the old file stays.
  Status Replace(std::string_view text) const;

 private:
  explicit YamlStateFile(std::string path) : path_(std::move(path)) {}
  Status Lock();

  const std::string path_;  // the path that the caller gave
  std::string target_;      // the file itself, if path_ is a symbolic link; else path_
  HeldFile lock_;
};

}  // namespace weir
