// MemoryProbe: measures how much memory this process uses and how much it may use.
//
// Used memory is the memory that only the process itself can free: the bytes that jemalloc has allocated if the program
// links it, else the anonymous resident pages. Mapped files and the page cache do not count, because the kernel frees
// them by itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "config/status.h"

namespace weir {

// The directories of the kernel's files; tests use directories of their own.
struct MemoryFiles {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
  std::string process = "self";  // the process whose cgroups ReadRoom reads: "self", or the id of another
};

struct MemoryUse {
  std::optional<uint64_t> jemalloc_bytes;  // jemalloc's stats.allocated; nullopt if jemalloc is not linked or fails
  uint64_t anonymous_bytes = 0;            // resident bytes that are not backed by a file

  // Returns the used bytes.
  uint64_t bytes() const { return jemalloc_bytes.value_or(anonymous_bytes); }
  // Returns the anonymous resident bytes beyond those that jemalloc has allocated; 0 if jemalloc is not linked.
  uint64_t kept_bytes() const { return anonymous_bytes - std::min(anonymous_bytes, bytes()); }
};

struct MemoryRoom {
  // The lowest memory limit among the cgroup of the process and the cgroups above it, and the memory use of the cgroup
  // that has this limit. Both are nullopt if there is no limit.
  std::optional<uint64_t> cgroup_limit_bytes;
  std::optional<uint64_t> cgroup_used_bytes;  // without page cache
  uint64_t host_available_bytes = 0;          // MemAvailable in /proc/meminfo

  // Returns the memory that is still free: that of the host or that of the cgroup, whichever is less.
  uint64_t free_bytes() const;
};

// Not thread-safe.
class MemoryProbe {
 public:
  // While the process has, and jemalloc has allocated, fewer than `exact_from_bytes` anonymous bytes, jemalloc is asked
  // only in each `every`-th call of ReadUse, and once the resident bytes have moved by a thirty-second of
  // `exact_from_bytes`. (jemalloc adds up the counters of all its arenas for a new figure. In an idle program, this
  // took 0.13 ms of CPU time each time, more than all else that a sample does.)
  explicit MemoryProbe(MemoryFiles files = {}, uint64_t exact_from_bytes = 0, int64_t every = 1);
  ~MemoryProbe();
  MemoryProbe(const MemoryProbe&) = delete;
  MemoryProbe& operator=(const MemoryProbe&) = delete;

  // Returns the memory that this process uses, or an error if /proc cannot be read. Cheap enough for every sample: one
  // read of an open file and, if jemalloc is linked, usually two calls into it.
  Result<MemoryUse> ReadUse();

  // Returns the memory that the process may still use, or an error if /proc/meminfo cannot be read. Reads a dozen small
  // files, so call it at start-up and for displays only.
  Result<MemoryRoom> ReadRoom() const;

 private:
  const MemoryFiles files_;
  const uint64_t exact_from_bytes_;
  const int64_t every_;
  int statm_ = -1;
  // The use when jemalloc was last asked, and the calls of ReadUse until it is asked again at the latest.
  MemoryUse asked_;
  int64_t calls_until_asked_ = 0;
};

// Makes the allocator (jemalloc if it is linked, else that of the C library) return free pages to the system. May take
// milliseconds.
void PurgeAllocator();

}  // namespace weir
