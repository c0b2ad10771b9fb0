// FileWatch notices that files have changed, without reading them. It reports a change only when the writer of the
// files seems to be done, so that its caller does not read a half-written file.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weir {

// The state of a file as stat() reports it. If two marks of a file are equal, the file has very likely not changed
// between them.
struct FileMark {
  bool exists = false;
  int64_t changed_seconds = 0;  // the time of the last change, since 1970
  int64_t changed_nanoseconds = 0;
  int64_t size = 0;
  uint64_t inode = 0;

  bool operator==(const FileMark&) const = default;
};

// Returns the present mark of the file at `path`. Its `exists` is false if there is no such file or if stat() fails.
inline FileMark MarkOf(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {.exists = true,
          .changed_seconds = status.st_mtim.tv_sec,
          .changed_nanoseconds = status.st_mtim.tv_nsec,
          .size = status.st_size,
          .inode = status.st_ino};
}

// Watches files that other programs overwrite, or replace by renaming a new file. Not thread-safe.
class FileWatch {
 public:
  // Returns the paths of the files to watch.
  using List = std::function<std::vector<std::string>()>;

  explicit FileWatch(std::string path) : FileWatch(std::vector{std::move(path)}) {}
  explicit FileWatch(std::vector<std::string> paths) : FileWatch([paths = std::move(paths)] { return paths; }) {}
  // Watches files whose list may change, too: Look and ReadWhole call `paths` each time. A file that is added to the
  // list or removed from it counts as a change.
  explicit FileWatch(List paths) : paths_(std::move(paths)) {}

  // Returns true if there is a change to read and its writer seems to be done: the files differ from those that
  // ReadWhole last read whole (or it has read none yet), and are the same as at the previous call of Look. The first
  // call returns false.
  bool Look() {
    const Marks now = MarksNow();
    const bool rest = std::exchange(seen_, now) == now;
    return rest && now != read_;
  }

  // Calls `read`, which must read the files. Returns true if the files did not change during the call. Otherwise `read`
  // may have seen half a change, so the change counts as unread, and a later Look reports it.
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
