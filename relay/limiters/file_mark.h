// Whether a file is another than it was, without reading it; and when it rests, so that it is read whole.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <utility>

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

// Of a file that others write, in place or by another name. One thread.
class FileWatch {
 public:
  explicit FileWatch(std::string path) : path_(std::move(path)) {}

  // Whether it is another than was read, and has not changed since the look before: who writes it is done, as it seems.
  bool Look() {
    const FileMark now = MarkOf(path_);
    const bool rests = std::exchange(seen_, now) == now;
    return rests && now != read_;
  }

  // Reads it by `read`. False: it changed meanwhile, and what came of it is half of something.
  template <typename Read>
  bool ReadWhole(Read read) {
    const FileMark before = MarkOf(path_);
    read();
    if (MarkOf(path_) != before) return false;
    read_ = before;
    return true;
  }

 private:
  std::string path_;
  FileMark seen_;
  FileMark read_;
};

}  // namespace weir
