// ConfigWatch: a thread that reads an operator's files again when FileWatch (file_mark.h) reports that they have
// changed, or when ReadSoon is called.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <stop_token>
#include <thread>

#include "config/mutex.h"
#include "relay/process/file_mark.h"

namespace weir {

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
