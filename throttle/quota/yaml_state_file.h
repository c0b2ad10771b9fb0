// A file that one process holds, and replaces as a whole. Private to the YAML store.
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
  // Makes its directory, and takes the lock PATH.lock. The error names the process that holds it.
  static Result<std::unique_ptr<YamlStateFile>> Take(const std::string& path);

  const std::string& path() const { return path_; }
  // Returns nothing if there is no file. Stops reading once it has more than `most` bytes.
  Result<std::optional<std::string>> Read(size_t most) const;
  // See ReplaceFile.
  Status Replace(std::string_view text) const;

 private:
  explicit YamlStateFile(std::string path) : path_(std::move(path)) {}
  Status Lock();

  const std::string path_;  // given by the caller
  std::string target_;      // the file itself, if path_ is a symbolic link
  HeldFile lock_;
};

}  // namespace weir
