#include "relay/observe/metrics/exposition.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>

namespace weir {
namespace {

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Kernels since 6.2 report the number of open files as the size of this directory. Listing the directory instead took
// up to 80 ms with 19,000 files.
uint64_t CountOpenFiles() {
  struct stat found {};
  if (stat("/proc/self/fd", &found) == 0 && found.st_size > 0) return static_cast<uint64_t>(found.st_size);
  uint64_t count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator file("/proc/self/fd", error), end; !error && file != end;
       file.increment(error))
    ++count;
  return count;
}

}  // namespace

std::string CachedText::Get(TimePoint now, const std::function<std::string()>& make) {
  std::unique_lock making(making_, std::try_to_lock);
  const bool others_make_it = !making.owns_lock();
  {
    const MutexLock lock(mutex_);
    if (text_ && (others_make_it || now - made_at_ < kFresh)) return *text_;
  }
  if (others_make_it) {
    // There is no previous text to return, so this call waits for the first one.
    making.lock();
    const MutexLock lock(mutex_);
    if (text_) return *text_;
  }
  std::string text = make();
  const MutexLock lock(mutex_);
  text_ = text;
  made_at_ = now;
  return text;
}

void CachedText::Forget() {
  const MutexLock making(making_);
  const MutexLock lock(mutex_);
  text_.reset();
}

ProcessFigures ReadProcess() {
  ProcessFigures figures;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  figures.cpu_seconds = SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime);
  std::ifstream statm("/proc/self/statm");
  uint64_t virtual_pages = 0;
  uint64_t resident_pages = 0;
  if (statm >> virtual_pages >> resident_pages) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    figures.virtual_bytes = virtual_pages * page;
    figures.resident_bytes = resident_pages * page;
  }
  figures.open_files = CountOpenFiles();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.most_files = limit.rlim_cur;
  return figures;
}

void AppendProcess(double started_at, MetricFamilies& families) {
  const ProcessFigures figures = ReadProcess();
  families.Counter("process_cpu_seconds_total", "CPU time of the process, user and system").Add(figures.cpu_seconds);
  families.Gauge("process_start_time_seconds", "When the process started, in seconds since 1970").Add(started_at);
  families.Gauge("process_open_fds", "Files and sockets that the process has open").Add(figures.open_files);
  families.Gauge("process_max_fds", "Files and sockets that the process may have open").Add(figures.most_files);
  if (figures.resident_bytes == 0) return;
  families.Gauge("process_resident_memory_bytes", "Memory of the process that is resident").Add(figures.resident_bytes);
  families.Gauge("process_virtual_memory_bytes", "Address space of the process").Add(figures.virtual_bytes);
}

}  // namespace weir
