#include "config/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "config/file_descriptor.h"
#include "config/sync_directory.h"

namespace weir {

bool ReplaceFile(const std::string& name, std::string_view text) {
  return ReplaceFile(name, [text]() mutable { return std::exchange(text, {}); });
}

bool ReplaceFile(const std::string& name, const std::function<std::string_view()>& next) {
  const std::string unfinished = name + ".new";
  (void)unlink(unfinished.c_str());  // left by a process that was killed while writing it
  struct stat before {};
  const mode_t mode = stat(name.c_str(), &before) == 0 ? before.st_mode & 07777 : 0644;
  const int file = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) return false;
  bool good = true;
  while (good) {
    const std::string_view piece = next();
    if (piece.empty()) break;
    good = WriteAll(file, piece);
  }
  good = good && fsync(file) == 0 && std::rename(unfinished.c_str(), name.c_str()) == 0;
  const int error = errno;
  close(file);
  if (good) {
    SyncDirectoryOf(name);
  } else {
    unlink(unfinished.c_str());
  }
  errno = error;
  return good;
}

}  // namespace weir
