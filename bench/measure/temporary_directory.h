// TemporaryDirectory: makes a directory with a new name. The destructor removes it with its contents.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "config/status.h"

namespace weir {

class TemporaryDirectory {
 public:
  static Result<std::unique_ptr<TemporaryDirectory>> Make(const std::filesystem::path& parent,
                                                          const std::string& prefix = "weir-bench");
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  const std::filesystem::path path_;
};

}  // namespace weir
