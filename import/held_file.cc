#include "import/held_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace weir {

int HeldFile::Open(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC;
  Close();
  path_ = path;
  while (true) {
    descriptor_ = open(path.c_str(), kFlags | O_EXCL, 0644);
    made_ = descriptor_ >= 0;
    if (!made_ && errno == EEXIST) descriptor_ = open(path.c_str(), kFlags, 0644);
    if (descriptor_ < 0) return errno;
    struct stat opened {};
    // What is no file on a disk (/dev/stderr, a pipe) is anybody's.
    if (fstat(descriptor_, &opened) != 0 || !S_ISREG(opened.st_mode)) return 0;
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      made_ = false;
      Close();
      return error;
    }
    // The one who had it may have removed it between the opening and the lock.
    struct stat named {};
    if (stat(path.c_str(), &named) == 0 && named.st_ino == opened.st_ino && named.st_dev == opened.st_dev) return 0;
    made_ = false;
    Close();
  }
}

void HeldFile::Close() {
  if (descriptor_ < 0) return;
  struct stat found {};
  if (made_ && fstat(descriptor_, &found) == 0 && found.st_size == 0) unlink(path_.c_str());
  close(descriptor_);
  descriptor_ = -1;
}

// While it is held: whoever opens the name afterwards has another file.
void HeldFile::Remove() {
  if (descriptor_ >= 0) unlink(path_.c_str());
  made_ = false;
  Close();
}

}  // namespace weir
