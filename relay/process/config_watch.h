// ConfigWatch is a thread that reads an operator's files again when they have changed and their writer seems to be done
// (file_mark.h), or when ReadSoon asks for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

#include "relay/process/file_mark.h"

namespace weir {

class ConfigWatch {
 public:
  // Reads the files and returns a function that puts their content into effect. The function must not be empty; it is
  // called next, unless a file changed while the files were read; then they are read again later. Both run on the
  // watch's own thread and must not throw.
  using Read = std::function<std::function<void()>()>;

  // Starts the thread, which looks at the files once in every interval. The caller must have read them before, with
  // `file`'s ReadWhole.
  ConfigWatch(FileWatch file, std::chrono::milliseconds interval, Read read);
  // Waits until a running Read has ended, then ends the thread.
  ~ConfigWatch();

  // Has the files read at once, changed or not. Returns without waiting for that. May be called from any thread.
  void ReadSoon();

 private:
  void Run(const std::stop_token& stop);

  const std::chrono::milliseconds interval_;
  const Read read_;
  FileWatch file_;  // used only by thread_
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool wanted_ = false;  // ReadSoon was called; protected by mutex_
  std::jthread thread_;  // the last member, so that it ends first
};

}  // namespace weir
