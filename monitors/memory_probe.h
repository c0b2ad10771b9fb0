// How much memory this process uses and how much it may use.
//
// What counts as used is memory that the process itself could give back: what jemalloc handed out where jemalloc is
// linked, else the anonymous resident pages. Pages of mapped files and the page cache do not count; the kernel takes
// those back by itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "config/status.h"

namespace weir {

// Where the kernel's files are; tests put a tree of their own here.
struct MemoryFiles {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
  std::string process = "self";  // or the number of another one, whose cgroups are meant
};

struct MemoryUse {
  std::optional<uint64_t> jemalloc_bytes;  // stats.allocated, where jemalloc is linked
  uint64_t anonymous_bytes = 0;            // resident, not backed by a file

  uint64_t bytes() const { return jemalloc_bytes.value_or(anonymous_bytes); }
  // Resident memory that jemalloc holds and nobody uses; 0 where jemalloc is not linked.
  uint64_t kept_bytes() const { return anonymous_bytes - std::min(anonymous_bytes, bytes()); }
};

struct MemoryRoom {
  // Of the tightest cgroup from this process's up to the root; absent where none has a limit.
  std::optional<uint64_t> cgroup_limit_bytes;
  std::optional<uint64_t> cgroup_used_bytes;  // without page cache
  uint64_t host_available_bytes = 0;          // MemAvailable

  // What could still be taken: the lesser of the host's and the cgroup's.
  uint64_t free_bytes() const;
};

// Thread-compatible.
class MemoryProbe {
 public:
  explicit MemoryProbe(MemoryFiles files = {});
  ~MemoryProbe();
  MemoryProbe(const MemoryProbe&) = delete;
  MemoryProbe& operator=(const MemoryProbe&) = delete;

  // Cheap enough for every sample: one read of an open file, or two calls into jemalloc.
  Result<MemoryUse> ReadUse();

  // Walks the cgroups and reads a dozen small files: for start-up and displays.
  Result<MemoryRoom> ReadRoom() const;

 private:
  const MemoryFiles files_;
  int statm_ = -1;
};

// Asks the allocator to return free pages to the system: jemalloc's arenas where it is linked, else malloc_trim. May
// take milliseconds.
void PurgeAllocator();

}  // namespace weir
