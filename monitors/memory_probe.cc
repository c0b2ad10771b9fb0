#include "monitors/memory_probe.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

// A weak symbol: defined if the program links (or preloads) jemalloc, else null.
// NOLINTNEXTLINE(readability-identifier-naming): jemalloc's name
extern "C" int mallctl(const char* name, void* old_value, size_t* old_size, void* new_value, size_t new_size)
    __attribute__((weak));

namespace weir {
namespace {

// cgroup v1 shows "no limit" as the largest multiple of the page size, 9223372036854771712 with 4 KiB pages. So
// kNoLimit and more mean no limit.
constexpr uint64_t kNoLimit = uint64_t{1} << 62;

// jemalloc is asked once the resident bytes have moved by this share of the bytes from which it is always asked.
constexpr uint64_t kMovedShare = 32;

std::optional<std::string> ReadText(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number = 0;
  const size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + start, text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

// Returns the number after the first `skipped` words, each of which ends with a space.
std::optional<uint64_t> NumberAfter(int skipped, std::string_view text) {
  for (; skipped > 0; --skipped) {
    const size_t space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    text.remove_prefix(space + 1);
  }
  return ParseNumber(text);
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  const auto text = ReadText(path);
  return text ? ParseNumber(*text) : std::nullopt;
}

// Returns the number after `key` at the start of a line, as in "MemAvailable:   123 kB" and "inactive_file 456".
std::optional<uint64_t> FindNumber(const std::optional<std::string>& text, std::string_view key) {
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key)) return ParseNumber(std::string_view(line).substr(key.size()));
  }
  return std::nullopt;
}

// The files of one version of cgroups.
struct CgroupNames {
  const char* limit;
  const char* used;
  const char* inactive_file;
  const char* active_file;
};
constexpr CgroupNames kV2{"memory.max", "memory.current", "inactive_file ", "active_file "};
constexpr CgroupNames kV1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ",
                          "total_active_file "};

struct CgroupUse {
  uint64_t limit = std::numeric_limits<uint64_t>::max();
  uint64_t used = 0;
};

void ConsiderGroup(const std::string& directory, const CgroupNames& names, CgroupUse* tightest) {
  const auto limit = ReadNumber(directory + "/" + names.limit);  // v2's "max" is no number
  if (!limit || *limit >= kNoLimit || *limit >= tightest->limit) return;
  tightest->limit = *limit;
  const auto stat = ReadText(directory + "/memory.stat");
  const uint64_t cached =
      FindNumber(stat, names.inactive_file).value_or(0) + FindNumber(stat, names.active_file).value_or(0);
  const uint64_t used = ReadNumber(directory + "/" + names.used).value_or(0);
  tightest->used = used > cached ? used - cached : 0;
}

// In a container the path may name a directory that only the host sees; then only the mount's root exists here, and it
// is the container's own group.
void ConsiderPath(const std::string& mount, std::string path, const CgroupNames& names, CgroupUse* tightest) {
  while (!path.empty() && path != "/") {
    ConsiderGroup(mount + path, names, tightest);
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  ConsiderGroup(mount, names, tightest);
}

bool HasMemory(std::string_view controllers) {
  std::istringstream list{std::string(controllers)};
  for (std::string name; std::getline(list, name, ',');) {
    if (name == "memory") return true;
  }
  return false;
}

std::optional<uint64_t> JemallocAllocated() {
  if (mallctl == nullptr) return std::nullopt;
  // The counters are those of the last epoch; writing an epoch refreshes them.
  uint64_t epoch = 1;
  if (mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch) != 0) return std::nullopt;
  size_t allocated = 0;
  size_t size = sizeof allocated;
  if (mallctl("stats.allocated", &allocated, &size, nullptr, 0) != 0) return std::nullopt;
  return allocated;
}

}  // namespace

uint64_t MemoryRoom::free_bytes() const {
  if (!cgroup_limit_bytes) return host_available_bytes;
  const uint64_t used = std::min(cgroup_used_bytes.value_or(0), *cgroup_limit_bytes);
  return std::min(host_available_bytes, *cgroup_limit_bytes - used);
}

MemoryProbe::MemoryProbe(MemoryFiles files, uint64_t exact_from_bytes, int64_t every)
    : files_(std::move(files)), exact_from_bytes_(exact_from_bytes), every_(every) {
  statm_ = open((files_.proc + "/self/statm").c_str(), O_RDONLY | O_CLOEXEC);
}

MemoryProbe::~MemoryProbe() {
  if (statm_ >= 0) close(statm_);
}

Result<MemoryUse> MemoryProbe::ReadUse() {
  char text[128];
  const ssize_t length = statm_ < 0 ? -1 : pread(statm_, text, sizeof text - 1, 0);
  if (length <= 0) return Status::Error("cannot read " + files_.proc + "/self/statm");
  text[length] = '\0';
  const auto resident = NumberAfter(1, text);
  const auto shared = NumberAfter(2, text);  // pages of files and shared memory
  if (!resident || !shared || *shared > *resident) {
    return Status::Error(files_.proc + "/self/statm is not as expected: " + text);
  }
  static const auto kPage = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t anonymous_bytes = (*resident - *shared) * kPage;
  // Memory that the kernel swapped out is in use, but not resident.
  const bool is_much = std::max(anonymous_bytes, asked_.bytes()) >= exact_from_bytes_;
  const uint64_t before = asked_.anonymous_bytes;
  const uint64_t moved = std::max(anonymous_bytes, before) - std::min(anonymous_bytes, before);
  if (--calls_until_asked_ <= 0 || is_much || moved > exact_from_bytes_ / kMovedShare) {
    asked_ = {.jemalloc_bytes = JemallocAllocated(), .anonymous_bytes = anonymous_bytes};
    calls_until_asked_ = every_;
  }
  return MemoryUse{.jemalloc_bytes = asked_.jemalloc_bytes, .anonymous_bytes = anonymous_bytes};
}

Result<MemoryRoom> MemoryProbe::ReadRoom() const {
  const auto available = FindNumber(ReadText(files_.proc + "/meminfo"), "MemAvailable:");
  if (!available) return Status::Error("no MemAvailable in " + files_.proc + "/meminfo");
  MemoryRoom room{.cgroup_limit_bytes = {}, .cgroup_used_bytes = {}, .host_available_bytes = *available * 1024};

  CgroupUse tightest;
  std::istringstream groups(ReadText(files_.proc + "/" + files_.process + "/cgroup").value_or(""));
  for (std::string line; std::getline(groups, line);) {  // hierarchy:controllers:path
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      ConsiderPath(files_.cgroup, path, kV2, &tightest);
      ConsiderPath(files_.cgroup + "/unified", path, kV2, &tightest);
    } else if (HasMemory(controllers)) {
      ConsiderPath(files_.cgroup + "/memory", path, kV1, &tightest);
    }
  }
  if (tightest.limit < kNoLimit) {
    room.cgroup_limit_bytes = tightest.limit;
    room.cgroup_used_bytes = tightest.used;
  }
  return room;
}

void PurgeAllocator() {
  // 4096 is MALLCTL_ARENAS_ALL, written out because jemalloc's header may not be there.
  if (mallctl != nullptr && mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0) == 0) return;
  malloc_trim(0);
}

}  // namespace weir
