// ConfigWatch: reads files of an operator's again, when they have changed and rest, or when somebody asks for it.
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
  // Looks at the files; what it returns is done next, unless one changed meanwhile. On the watch's own thread.
  using Read = std::function<std::function<void()>()>;

  // `file` was read; it is looked at in every interval.
  ConfigWatch(FileWatch file, std::chrono::milliseconds interval, Read read);
  ~ConfigWatch();

  // Any thread.
  void ReadSoon();

 private:
  void Run(const std::stop_token& stop);

  const std::chrono::milliseconds interval_;
  const Read read_;
  FileWatch file_;  // of the thread
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool wanted_ = false;  // under the lock
  std::jthread thread_;  // ends first
};

}  // namespace weir
