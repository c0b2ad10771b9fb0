#include "relay/process/config_watch.h"

#include <sys/stat.h>

#include <utility>

namespace weir {

bool FileWatch::Look() {
  const Marks now = MarksNow();
  const bool rest = std::exchange(seen_, now) == now;
  return rest && now != read_;
}

FileWatch::Marks FileWatch::MarksNow() const {
  Marks marks;
  for (std::string& path : paths_()) {
    struct stat status {};
    Mark mark;
    if (stat(path.c_str(), &status) == 0)
      mark = {.exists = true,
              .changed_seconds = status.st_mtim.tv_sec,
              .changed_nanoseconds = status.st_mtim.tv_nsec,
              .size = status.st_size,
              .inode = status.st_ino};
    marks.emplace_back(std::move(path), mark);
  }
  return marks;
}

ConfigWatch::ConfigWatch(FileWatch file, std::chrono::milliseconds interval, Read read)
    : interval_(interval), read_(std::move(read)), file_(std::move(file)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

ConfigWatch::~ConfigWatch() = default;

void ConfigWatch::ReadSoon() {
  const MutexLock lock(mutex_);
  wanted_ = true;
  changed_.notify_all();
}

void ConfigWatch::Run(const std::stop_token& stop) {
  for (;;) {
    bool wanted = false;
    {
      MutexLock lock(mutex_);
      changed_.wait_for(lock, stop, interval_, [this]() WEIR_REQUIRES(mutex_) { return wanted_; });
      wanted = std::exchange(wanted_, false);
    }
    if (stop.stop_requested()) return;
    if (!file_.Look() && !wanted) continue;
    std::function<void()> apply;
    if (file_.ReadWhole([&] { apply = read_(); })) apply();
  }
}

}  // namespace weir
