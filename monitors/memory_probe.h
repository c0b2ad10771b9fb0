// How much memory this process uses and how much it may use.
//
// Used is the memory that the process itself could give back: the bytes that jemalloc handed out if it is linked, else
// the anonymous resident pages. Pages of mapped files and the page cache do not count; the kernel takes those back by
// itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "config/status.h"

namespace weir {

// The paths of the kernel's files; tests put a tree of their own here.
struct MemoryFiles {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
  std::string process = "self";  // or the id of another process, to read the room in its cgroups
};

struct MemoryUse {
  std::optional<uint64_t> jemalloc_bytes;  // stats.allocated, if jemalloc is linked
  uint64_t anonymous_bytes = 0;            // resident, not backed by a file

  uint64_t bytes() const { return jemalloc_bytes.value_or(anonymous_bytes); }
  // Resident memory that jemalloc holds but has not handed out; 0 if jemalloc is not linked.
  uint64_t kept_bytes() const { return anonymous_bytes - std::min(anonymous_bytes, bytes()); }
};

struct MemoryRoom {
  // The limit of the tightest cgroup from the process's own up to the root, and its use; absent if none has a limit.
  std::optional<uint64_t> cgroup_limit_bytes;
  std::optional<uint64_t> cgroup_used_bytes;  // without page cache
  uint64_t host_available_bytes = 0;          // MemAvailable

  // The memory that could still be taken: the lesser of the host's and the cgroup's.
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

// Asks the allocator to return free pages to the system: jemalloc's arenas if it is linked, else malloc_trim. May take
// milliseconds.
void PurgeAllocator();

}  // namespace weir
