#include "bench/relay/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace weir {
namespace {

namespace fs = std::filesystem;

// Returns the number of the file's bytes that are in memory; -1 after an error, which is in errno.
int64_t BytesInMemory(int fd, size_t size) {
  if (size == 0) return 0;
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return -1;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((size + page - 1) / page);
  const bool known = mincore(mapped, size, pages.data()) == 0;
  munmap(mapped, size);
  const auto in_memory = std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; });
  return known ? static_cast<int64_t>(in_memory) * static_cast<int64_t>(page) : -1;
}

Result<uint64_t> Drop(const fs::path& file, size_t size) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  int64_t left = -1;
  if (fd >= 0 && fsync(fd) == 0 && (errno = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)) == 0)
    left = BytesInMemory(fd, size);
  const Status failed = Status::Error("cannot drop " + file.string() + " from the page cache: " + std::strerror(errno));
  if (fd >= 0) close(fd);
  if (left < 0) return failed;
  return static_cast<uint64_t>(left);
}

}  // namespace

Result<uint64_t> DropFromPageCache(const fs::path& directory) {
  uint64_t left = 0;
  std::error_code error;
  for (auto at = fs::recursive_directory_iterator(directory, error); !error && at != fs::end(at); at.increment(error)) {
    if (!at->is_regular_file(error)) continue;
    const auto of_file = Drop(at->path(), at->file_size(error));
    if (!of_file.ok()) return of_file.status();
    left += of_file.value();
  }
  if (error) return Status::Error("cannot read " + directory.string() + ": " + error.message());
  return left;
}

}  // namespace weir
