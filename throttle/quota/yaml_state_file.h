// A file that one process has, and replaces as a whole. Private to the YAML store.
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
  // Makes its directory, and takes the lock PATH.lock. The error names the process that has it.
  static Result<std::unique_ptr<YamlStateFile>> Take(const std::string& path);

  const std::string& path() const { return path_; }
  // Nothing where there is no file. One byte more than `most` at most.
  Result<std::optional<std::string>> Read(size_t most) const;
  // See ReplaceFile.
  Status Replace(std::string_view text) const;

 private:
  explicit YamlStateFile(std::string path) : path_(std::move(path)) {}
  Status Lock();

  const std::string path_;  // as it was given
  std::string target_;      // where a symbolic link leads to
  HeldFile lock_;
};

}  // namespace weir
