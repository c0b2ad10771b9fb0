#include "relay/store/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>
#include <utility>

#include "config/parse.h"

namespace weir {
namespace {

// HolderOf has the lock for some microseconds where nobody else has it: a coincidence is no reason to refuse.
constexpr int kTries = 3;
constexpr std::chrono::milliseconds kPause{1};

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

// Anybody may have written the file: whatever cannot be read of it is left empty.
LockHolder ReadHolder(int descriptor) {
  char text[512];
  const ssize_t size = pread(descriptor, text, sizeof(text), 0);
  std::istringstream lines(std::string(text, size > 0 ? static_cast<size_t>(size) : 0));
  std::string who;
  LockHolder holder;
  std::getline(lines, who);
  std::getline(lines, holder.address);
  const std::string process = who.substr(0, who.find(' '));
  if (process.size() < who.size()) holder.name = who.substr(process.size() + 1);
  const Result<uint64_t> number = ParseUnsigned(process, {.min = 1, .max = std::numeric_limits<int>::max()});
  if (number.ok()) holder.process = static_cast<int>(number.value());
  return holder;
}

// 0, or the error.
int Lock(int descriptor) {
  for (int tries = 1; flock(descriptor, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK || tries == kTries) return errno;
    std::this_thread::sleep_for(kPause);
  }
  return 0;
}

}  // namespace

std::string Describe(const LockHolder& holder) {
  if (holder.process == 0) return "another process";
  return "process " + std::to_string(holder.process) + (holder.name.empty() ? "" : " (" + Printable(holder.name) + ")");
}

std::optional<LockHolder> HolderOf(const std::string& directory) {
  const int descriptor = open((directory + "/" + LockFile::kName).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::optional<LockHolder> holder;
  if (flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) holder = ReadHolder(descriptor);
  close(descriptor);
  return holder;
}

// flock, not fcntl: those locks belong to the process, a second store in it would get one too.
Result<LockFile> LockFile::Take(const std::string& directory, const std::string& address) {
  const std::string path = directory + "/" + kName;
  LockFile lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock.descriptor_ < 0) return Status::Error("cannot write " + path + ": " + std::strerror(errno));
  if (const int error = Lock(lock.descriptor_); error != 0) {
    if (error != EWOULDBLOCK) return Status::Error("cannot lock " + path + ": " + std::strerror(error));
    return Status::Error(directory + " is in use by " + Describe(ReadHolder(lock.descriptor_)) +
                         "; stop it, or name another directory");
  }
  const std::string text = std::to_string(getpid()) + " " + OwnName() + "\n" + (address.empty() ? "" : address + "\n");
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
