// Reads the server process's processor time, memory and written bytes from /proc, and this process's own processor
// time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "bench/relay/loop.h"
#include "config/clock.h"
#include "config/status.h"

namespace weir {

struct ServerMemory {
  double resident_mb = 0;
  double anonymous_mb = 0;  // without mapped files, because databases map different amounts of them
  double peak_resident_mb = 0;
};

// Reads the kernel's counters, which is cheap. They may be wrong by some pages for each thread.
Result<ServerMemory> ReadMemory(pid_t pid);
// Makes the kernel count page by page. This is exact, but too slow while latency is measured. Sets no peak.
Result<ServerMemory> CountMemory(pid_t pid);

// Returns the user and system time of all threads, in nanoseconds; /proc/PID/stat has only hundredths of a second.
Result<Duration> ProcessorTime(pid_t pid);

struct WrittenBytes {
  uint64_t to_disk = 0;   // bytes of pages that the process made dirty, even if another process writes them to disk
  uint64_t by_calls = 0;  // bytes given to write(2) and similar calls, for files and sockets
};
Result<WrittenBytes> ReadWritten(pid_t pid);

// Returns the size, in bytes, of the disk blocks of all files below the directory. Holes have no blocks.
Result<uint64_t> DiskBytes(const std::filesystem::path& directory);

// MemoryPeak: reads the memory of a process fifty times a second while a loop runs, and keeps the peak. It must outlive
// the loop.
class MemoryPeak {
 public:
  void Start(pid_t pid, Loop* loop);
  const ServerMemory& most() const { return most_; }

 private:
  void Look(TimePoint at);

  pid_t pid_ = 0;
  Loop* loop_ = nullptr;
  ServerMemory most_;
};

}  // namespace weir
