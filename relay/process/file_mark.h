// Whether files are others than they were, without reading them; and when they rest, so that they are read whole.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
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

// Of files that others write, in place or by another name. One thread.
class FileWatch {
 public:
  using List = std::function<std::vector<std::string>()>;

  explicit FileWatch(std::string path) : FileWatch(std::vector{std::move(path)}) {}
  explicit FileWatch(std::vector<std::string> paths) : FileWatch([paths = std::move(paths)] { return paths; }) {}
  // Those that there are at a time, by their paths: one more or fewer is a change too.
  explicit FileWatch(List paths) : paths_(std::move(paths)) {}

  // Whether they are others than were read, and have not changed since the look before: who writes them is done, as it
  // seems.
  bool Look() {
    const Marks now = MarksNow();
    const bool rest = std::exchange(seen_, now) == now;
    return rest && now != read_;
  }

  // Reads them by `read`. False: they changed meanwhile, and what came of it is half of something.
  template <typename Read>
  bool ReadWhole(Read read) {
    const Marks before = MarksNow();
    read();
    if (MarksNow() != before) return false;
    read_ = before;
    return true;
  }

 private:
  using Marks = std::vector<std::pair<std::string, FileMark>>;

  Marks MarksNow() const {
    Marks marks;
    for (std::string& path : paths_()) {
      const FileMark mark = MarkOf(path);
      marks.emplace_back(std::move(path), mark);
    }
    return marks;
  }

  List paths_;
  Marks seen_;
  Marks read_;
};

}  // namespace weir
