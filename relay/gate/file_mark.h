// What tells whether a file is another than it was, without reading it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace weir {

struct FileMark {
  bool exists = false;
  int64_t changed_seconds = 0;
  int64_t changed_nanoseconds = 0;
  int64_t size = 0;
  uint64_t inode = 0;

  bool operator==(const FileMark&) const = default;
};

inline FileMark MarkOf(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {.exists = true,
          .changed_seconds = status.st_mtim.tv_sec,
          .changed_nanoseconds = status.st_mtim.tv_nsec,
          .size = status.st_size,
          .inode = status.st_ino};
}

}  // namespace weir
