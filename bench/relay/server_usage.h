// What the server process uses, from /proc: processor time, memory, what it writes; and this process's own time.
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

// Cheap: counters of the kernel, exact but for some pages a thread.
Result<ServerMemory> ReadMemory(pid_t pid);
// The kernel counts page by page: exact, and too slow to be called while latency is measured. Without peak.
Result<ServerMemory> CountMemory(pid_t pid);

// User and system time of all threads, to the nanosecond where /proc/PID/stat counts hundredths of a second.
Result<Duration> ProcessorTime(pid_t pid);

struct WrittenBytes {
  uint64_t to_disk = 0;   // pages made dirty, whoever writes them back
  uint64_t by_calls = 0;  // write(2) and the like, to files and sockets
};
Result<WrittenBytes> ReadWritten(pid_t pid);

// Blocks that the files below the directory have, holes not counted.
Result<uint64_t> DiskBytes(const std::filesystem::path& directory);

Duration OwnProcessorTime();

// Looks at the memory fifty times a second while a loop runs, and keeps the most. Must live as long as the loop.
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
