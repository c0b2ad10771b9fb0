// YamlStateFile: the file of a YAML store (yaml_store.h). Only one process at a time can open it. It is always replaced
// as a whole. Private to the YAML store.
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
  // Makes the directory of the file if it is missing, and takes the lock PATH.lock, which this object keeps until it is
  // destroyed. If PATH is a symbolic link, both are those of the file to which it leads. The file itself may be
  // missing, and is not made. If another process has the lock, the error names that process, if the lock file does.
  static Result<std::unique_ptr<YamlStateFile>> Take(const std::string& path);

  const std::string& path() const { return path_; }
  // Returns the text of the file, or nothing if there is no file. Stops reading once it has more than `most` bytes, so
  // the file is too long if the result is longer than `most`.
  Result<std::optional<std::string>> Read(size_t most) const;
  // Replaces the content of the file (config/replace_file.h). If that fails, the old file stays.
  Status Replace(std::string_view text) const;

 private:
  explicit YamlStateFile(std::string path) : path_(std::move(path)) {}
  Status Lock();

  const std::string path_;  // the path that the caller gave
  std::string target_;      // the file itself, if path_ is a symbolic link; else path_
  HeldFile lock_;
};

}  // namespace weir
