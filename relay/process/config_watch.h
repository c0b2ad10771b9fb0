// ConfigWatch reads an operator's files again when they have changed and are at rest, or when ReadSoon asks for it.
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
  // Reads the files, on the watch's own thread. The function that it returns is called next, unless a file changed
  // meanwhile.
  using Read = std::function<std::function<void()>()>;

  // The files of `file` were read already; they are looked at in every interval.
  ConfigWatch(FileWatch file, std::chrono::milliseconds interval, Read read);
  ~ConfigWatch();

  // May be called from any thread.
  void ReadSoon();

 private:
  void Run(const std::stop_token& stop);

  const std::chrono::milliseconds interval_;
  const Read read_;
  FileWatch file_;  // used by the thread alone
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool wanted_ = false;  // protected by mutex_
  std::jthread thread_;  // ends first
};

}  // namespace weir
