#include "config/held_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <limits>
#include <sstream>
#include <thread>
#include <utility>

#include "config/text/parse.h"

namespace weir {
namespace {

// FindHolder takes a lock that is free, for some microseconds. Lock must not fail because of that, so it tries again.
constexpr int kTries = 3;
constexpr std::chrono::milliseconds kPause{1};

// flock, not fcntl: fcntl's locks belong to the process, so a second holder in the same process would succeed, too.
bool Lock(int descriptor) {
  for (int tries = 1; flock(descriptor, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK || tries == kTries) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

// Any program may have written the file: members that cannot be read are left empty.
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

}  // namespace

std::string Describe(const LockHolder& holder) {
  if (holder.process == 0) return "another process";
  return "process " + std::to_string(holder.process) + (holder.name.empty() ? "" : " (" + Printable(holder.name) + ")");
}

std::optional<LockHolder> FindHolder(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::optional<LockHolder> holder;
  if (flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) holder = ReadHolder(descriptor);
  close(descriptor);
  return holder;
}

HeldFile& HeldFile::operator=(HeldFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(made_, other.made_);
  return *this;
}

HeldFile::Outcome HeldFile::Open(const std::string& path, Links links) {
  const int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (links == Links::kRefuse ? O_NOFOLLOW : 0);
  path_ = path;
  while (true) {
    Close();
    descriptor_ = open(path.c_str(), flags | O_EXCL, 0644);
    made_ = descriptor_ >= 0;
    if (!made_ && errno == EEXIST) descriptor_ = open(path.c_str(), flags, 0644);
    if (descriptor_ < 0) return Outcome::kFailed;
    struct stat opened {};
    if (fstat(descriptor_, &opened) != 0 || !S_ISREG(opened.st_mode)) return Outcome::kHeld;
    if (!Lock(descriptor_)) {
      const int error = errno;
      Close();
      errno = error;
      return error == EWOULDBLOCK ? Outcome::kInUse : Outcome::kFailed;
    }
    // The last holder may have removed the file before the lock was taken.
    struct stat named {};
    if (stat(path.c_str(), &named) == 0 && named.st_ino == opened.st_ino && named.st_dev == opened.st_dev)
      return Outcome::kHeld;
  }
}

void HeldFile::Say(const std::string& text) {
  if (ftruncate(descriptor_, 0) == 0 && write(descriptor_, text.data(), text.size()) < 0) errno = 0;
}

void HeldFile::Close() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

// Unlinks the file while it is held: a process that opens the name afterwards gets another file.
void HeldFile::Remove() {
  if (descriptor_ >= 0) unlink(path_.c_str());
  Close();
}

}  // namespace weir
