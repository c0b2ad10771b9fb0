// Tells, without reading files, whether they have changed, and when they are at rest, so that they are read whole.
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

// Watches files that other programs write in place, or write under another name and rename. One thread only.
class FileWatch {
 public:
  using List = std::function<std::vector<std::string>()>;

  explicit FileWatch(std::string path) : FileWatch(std::vector{std::move(path)}) {}
  explicit FileWatch(std::vector<std::string> paths) : FileWatch([paths = std::move(paths)] { return paths; }) {}
  // `paths` lists the files that exist at the time: one more or fewer is a change too.
  explicit FileWatch(List paths) : paths_(std::move(paths)) {}

  // Returns true if the files differ from those that were read and have not changed since the look before: their writer
  // seems to be done.
  bool Look() {
    const Marks now = MarksNow();
    const bool rest = std::exchange(seen_, now) == now;
    return rest && now != read_;
  }

  // Reads the files by calling `read`. Returns false if they changed meanwhile: what was read may be half of something.
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
