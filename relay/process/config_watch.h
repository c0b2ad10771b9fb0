// ConfigWatch: a thread that reads an operator's files again when a FileWatch reports that they have changed, or when
// ReadSoon is called.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/mutex.h"

namespace weir {

// Notices that files have changed, without reading them. The files may be overwritten by other programs, or replaced by
// renaming a new file. A FileWatch reports a change only when the writer of the files seems to be done, so that its
// caller does not read a half-written file. Not thread-safe.
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
  bool Look();

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
  // The state of a file as stat() reports it. If two marks of a file are equal, the file has very likely not changed
  // between them.
  struct Mark {
    bool exists = false;          // false if there is no such file or if stat() fails
    int64_t changed_seconds = 0;  // the time of the last change, since 1970
    int64_t changed_nanoseconds = 0;
    int64_t size = 0;
    uint64_t inode = 0;

    bool operator==(const Mark&) const = default;
  };
  using Marks = std::vector<std::pair<std::string, Mark>>;

  Marks MarksNow() const;

  List paths_;
  Marks seen_;
  Marks read_;
};

class ConfigWatch {
 public:
  // Reads the files and returns a function, which must not be empty, that applies their content. The thread then calls
  // that function. If a file changed while Read was running, the thread drops the function instead, and reads the files
  // again when they have stopped changing. Both functions run on the thread of this object and must not throw.
  using Read = std::function<std::function<void()>()>;

  // Starts the thread, which checks once every `interval` whether the files have changed. The caller should have read
  // them with file.ReadWhole before. If it has not, or if ReadWhole returned false, the thread reads them again.
  ConfigWatch(FileWatch file, std::chrono::milliseconds interval, Read read);
  // Waits until a running Read, and the function that it returned, have ended; then ends the thread.
  ~ConfigWatch();

  // Makes the thread read the files at once, whether they have changed or not, and returns without waiting for that.
  // May be called from any thread.
  void ReadSoon();

 private:
  void Run(const std::stop_token& stop);

  const std::chrono::milliseconds interval_;
  const Read read_;
  FileWatch file_;  // used only by thread_
  Mutex mutex_;
  std::condition_variable_any changed_;
  bool wanted_ WEIR_GUARDED_BY(mutex_) = false;  // ReadSoon was called
  std::jthread thread_;                          // the last member, so that it ends first
};

}  // namespace weir
