#include "import/export/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "config/sync_directory.h"

namespace weir {
namespace {

bool SameFile(int descriptor, const std::string& name) {
  struct stat ours {};
  struct stat theirs {};
  return fstat(descriptor, &ours) == 0 && stat(name.c_str(), &theirs) == 0 && ours.st_dev == theirs.st_dev &&
         ours.st_ino == theirs.st_ino;
}

}  // namespace

OutputFile::OutputFile(int descriptor, std::string name, std::string part)
    : descriptor_(descriptor), name_(std::move(name)), part_(std::move(part)) {}

Result<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& name) {
  const auto opened = [](int descriptor, const std::string& whole, const std::string& part) {
    return std::unique_ptr<OutputFile>(new OutputFile(descriptor, whole, part));
  };
  if (name == "-") return opened(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), "standard output", "");
  struct stat there {};
  const bool exists = stat(name.c_str(), &there) == 0;
  const bool as_it_is = exists && !S_ISREG(there.st_mode);
  std::error_code error;
  // A symbolic link continues to point to the same file.
  const std::filesystem::path target = std::filesystem::canonical(name, error);
  const std::string whole = as_it_is || error ? name : target.string();
  const std::string part = as_it_is ? "" : whole + ".part";
  // Removes the file that an earlier run left when it was killed.
  if (!part.empty()) unlink(part.c_str());
  const int descriptor = as_it_is ? open(whole.c_str(), O_WRONLY | O_CLOEXEC)
                                  : open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) return Status::Error("cannot write " + (as_it_is ? whole : part) + ": " + std::strerror(errno));
  return opened(descriptor, whole, part);
}

OutputFile::~OutputFile() {
  if (!part_.empty() && SameFile(descriptor_, part_)) unlink(part_.c_str());
  if (descriptor_ >= 0) close(descriptor_);
}

Status OutputFile::Error(const std::string& what, const std::string& name) {
  return Status::Error("cannot " + what + " " + name + ": " + std::strerror(errno));
}

Status OutputFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      reader_gone_ = errno == EPIPE;
      return Error("write", part_.empty() ? name_ : part_);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Status OutputFile::Commit() {
  if (!part_.empty()) return Rename();
  // Some file systems report only here that their disk is full.
  const int closed = close(std::exchange(descriptor_, -1));
  return closed == 0 ? Status() : Error("write", name_);
}

Status OutputFile::Rename() {
  if (fsync(descriptor_) != 0) return Error("write", part_);
  if (!SameFile(descriptor_, part_))
    return Status::Error("another program has put a file of its own at " + part_ + "; nothing was exported to " +
                         name_);
  if (std::rename(part_.c_str(), name_.c_str()) != 0) return Error("rename " + part_ + " to", name_);
  part_.clear();
  SyncDirectoryOf(name_);
  return {};
}

}  // namespace weir
