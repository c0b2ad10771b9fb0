// A file that one process has, and replaces as a whole. Private to the YAML store.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

class YamlStateFile {
 public:
  // Makes its directory, and takes the lock PATH.lock. The error names the process that has it.
  static Result<std::unique_ptr<YamlStateFile>> Take(const std::string& path);
  ~YamlStateFile();
  YamlStateFile(const YamlStateFile&) = delete;
  YamlStateFile& operator=(const YamlStateFile&) = delete;

  const std::string& path() const { return path_; }
  // Nothing where there is no file. One byte more than `most` at most.
  Result<std::optional<std::string>> Read(size_t most) const;
  // By a file beside it that is synced and renamed. Where that fails, the file from before stands.
  Status Replace(std::string_view text) const;

 private:
  explicit YamlStateFile(std::string path) : path_(std::move(path)) {}
  Status Lock();
  Status WriteBeside(std::string_view text) const;

  const std::string path_;  // as it was given
  std::string target_;      // where a symbolic link leads to
  int lock_ = -1;
};

}  // namespace weir
