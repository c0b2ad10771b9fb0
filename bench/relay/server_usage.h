// Reads the server process's processor time, memory and written bytes from /proc; and this process's own time.
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
  double anonymous_mb = 0;  // without mapped files, which a database may map as it likes
  double peak_resident_mb = 0;
};

// Cheap: reads the kernel's counters, which are exact except for some pages a thread.
Result<ServerMemory> ReadMemory(pid_t pid);
// Lets the kernel count page by page: exact, but too slow to be called while latency is measured. Gives no peak.
Result<ServerMemory> CountMemory(pid_t pid);

// Returns user and system time of all threads to the nanosecond; /proc/PID/stat counts hundredths of a second.
Result<Duration> ProcessorTime(pid_t pid);

struct WrittenBytes {
  uint64_t to_disk = 0;   // pages made dirty, even if another process writes them back
  uint64_t by_calls = 0;  // write(2) and the like, to files and sockets
};
Result<WrittenBytes> ReadWritten(pid_t pid);

// Returns the bytes of the blocks that the files below the directory have, without holes.
Result<uint64_t> DiskBytes(const std::filesystem::path& directory);

Duration OwnProcessorTime();

// Reads the memory fifty times a second while a loop runs, and keeps the peak. Must live as long as the loop.
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
