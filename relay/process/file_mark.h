// Whether a file is another than it was, without reading it; and when it rests, so that it is read whole.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

// Of files that others write, in place or by another name, and that are read together. One thread.
class FileWatch {
 public:
  explicit FileWatch(std::string path) : FileWatch(std::vector{std::move(path)}) {}
  explicit FileWatch(std::vector<std::string> paths)
      : paths_(std::move(paths)), seen_(paths_.size()), read_(paths_.size()) {}

  // Whether they are others than were read, and have not changed since the look before: who writes is done, as it
  // seems.
  bool Look() {
    Marks now = Now();
    const bool rests = seen_ == now;
    seen_ = std::move(now);
    return rests && seen_ != read_;
  }

  // Reads them by `read`. False: one changed meanwhile, and what came of it is half of something.
  template <typename Read>
  bool ReadWhole(Read read) {
    Marks before = Now();
    read();
    if (Now() != before) return false;
    read_ = std::move(before);
    return true;
  }

 private:
  using Marks = std::vector<FileMark>;
  Marks Now() const {
    Marks marks;
    for (const std::string& path : paths_) marks.push_back(MarkOf(path));
    return marks;
  }

  std::vector<std::string> paths_;
  Marks seen_;
  Marks read_;
};

}  // namespace weir
