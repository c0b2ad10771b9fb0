// FileMark and FileWatch tell whether files have changed, without reading them, and when their writer seems to be done,
// so that a half-written file is not taken for a whole one.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weir {

// The state of a file as the system shows it. Two equal marks mean that the file very likely has not changed.
struct FileMark {
  bool exists = false;
  int64_t changed_seconds = 0;  // the time of the last change, since 1970
  int64_t changed_nanoseconds = 0;
  int64_t size = 0;
  uint64_t inode = 0;

  bool operator==(const FileMark&) const = default;
};

// Returns the mark of the file at `path` now; exists is false if there is no file, or if it cannot be looked at.
inline FileMark MarkOf(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {.exists = true,
          .changed_seconds = status.st_mtim.tv_sec,
          .changed_nanoseconds = status.st_mtim.tv_nsec,
          .size = status.st_size,
          .inode = status.st_ino};
}

// Watches files that other programs write in place, or write under another name and rename. Not thread-safe.
class FileWatch {
 public:
  // Returns the paths of the files to watch.
  using List = std::function<std::vector<std::string>()>;

  explicit FileWatch(std::string path) : FileWatch(std::vector{std::move(path)}) {}
  explicit FileWatch(std::vector<std::string> paths) : FileWatch([paths = std::move(paths)] { return paths; }) {}
  // Watches a list that may change. `paths` is called at every look; an added or removed file is a change, too.
  explicit FileWatch(List paths) : paths_(std::move(paths)) {}

  // Returns true if the files have changed since ReadWhole last returned true, and have not changed since the previous
  // call of Look, so that their writer seems to be done. The first call returns false.
  bool Look() {
    const Marks now = MarksNow();
    const bool rest = std::exchange(seen_, now) == now;
    return rest && now != read_;
  }

  // Calls `read`, which reads the files. Returns false if the files changed meanwhile: then `read` may have seen a part
  // of a change, and the files count as not read.
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
