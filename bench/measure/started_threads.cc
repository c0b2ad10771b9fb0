#include "bench/measure/started_threads.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace weir {
namespace {

constexpr const char* kThreads = "/proc/self/task";

std::vector<int> ThreadIds() {
  std::vector<int> ids;
  for (const auto& entry : std::filesystem::directory_iterator(kThreads))
    ids.push_back(std::atoi(entry.path().filename().c_str()));
  std::sort(ids.begin(), ids.end());
  return ids;
}

// RocksDB gives its background threads names. A new one may not have its name yet, so it is asked late.
bool IsRocksDbs(int thread) {
  std::string name;
  std::ifstream(std::string(kThreads) + '/' + std::to_string(thread) + "/comm") >> name;
  return name.starts_with("rocksdb:");
}

// Returns the clock of a thread's CPU time, as pthread_getcpuclockid does, which does not take a kernel's id.
clockid_t CpuClockOf(int thread) {
  constexpr int kOfAThread = 4, kScheduled = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kOfAThread | kScheduled);
}

}  // namespace

StartedThreads::StartedThreads(const std::function<void()>& start) {
  const std::vector<int> before = ThreadIds();
  start();
  std::ranges::set_difference(ThreadIds(), before, std::back_inserter(threads_));
}

double StartedThreads::CpuSeconds() const {
  double seconds = 0;
  for (const int thread : threads_) {
    timespec used{};
    if (clock_gettime(CpuClockOf(thread), &used) == 0 && !IsRocksDbs(thread))
      seconds += static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  }
  return seconds;
}

}  // namespace weir
