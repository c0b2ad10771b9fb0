#include "config/file_descriptor.h"

#include <unistd.h>

#include <cerrno>

namespace weir {

void Descriptor::Close() {
  if (is_open()) ::close(std::exchange(number_, -1));
}

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(file, bytes.data(), bytes.size());
    if (size < 0 && errno != EINTR) return false;
    if (size > 0) bytes.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

}  // namespace weir
