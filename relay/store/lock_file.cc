#include "relay/store/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "config/parse.h"

namespace weir {
namespace {

// The program's name without its path and its first argument, as one knows it from ps: "weir relay".
std::string OwnName() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string program;
  std::string argument;
  std::getline(in, program, '\0');
  std::getline(in, argument, '\0');
  program.erase(0, program.rfind('/') + 1);
  if (argument.empty() || argument.starts_with('-')) return program;
  return program + " " + argument;
}

std::string HolderOf(int descriptor) {
  char text[256];
  const ssize_t size = pread(descriptor, text, sizeof(text), 0);
  std::istringstream in(std::string(text, size > 0 ? static_cast<size_t>(size) : 0));
  std::string pid;
  std::string name;
  in >> pid >> std::ws;
  std::getline(in, name);
  if (pid.empty()) return "another process";
  return "process " + Printable(pid) + (name.empty() ? "" : " (" + Printable(name) + ")");
}

}  // namespace

// flock, not fcntl: those locks belong to the process, a second store in it would get one too.
Result<LockFile> LockFile::Take(const std::string& directory) {
  const std::string path = directory + "/" + kName;
  LockFile lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock.descriptor_ < 0) return Status::Error("cannot write " + path + ": " + std::strerror(errno));
  if (flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Status::Error("cannot lock " + path + ": " + std::strerror(errno));
    return Status::Error(directory + " is in use by " + HolderOf(lock.descriptor_) +
                         "; stop it, or name another directory");
  }
  const std::string text = std::to_string(getpid()) + " " + OwnName() + "\n";
  // What it says is only for the reader; on a full disk the lock holds without it.
  if (ftruncate(lock.descriptor_, 0) == 0 && pwrite(lock.descriptor_, text.data(), text.size(), 0) < 0) errno = 0;
  return lock;
}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

// The file stays: were it removed, one who has it open and one who makes it anew would both hold "the" lock.
void LockFile::Release() {
  if (descriptor_ < 0) return;
  if (ftruncate(descriptor_, 0) != 0) errno = 0;
  close(descriptor_);
  descriptor_ = -1;
}

}  // namespace weir
