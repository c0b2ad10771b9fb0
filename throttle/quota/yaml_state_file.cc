#include "throttle/quota/yaml_state_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "config/parse.h"
#include "config/sync_directory.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string HolderIn(int lock) {
  std::array<char, 32> text{};
  const ssize_t size = pread(lock, text.data(), text.size(), 0);
  const std::string_view digits = TrimBlanks({text.data(), size > 0 ? static_cast<size_t>(size) : 0});
  const Result<uint64_t> process = ParseUnsigned(digits, {.min = 1, .max = 1e9});
  return process.ok() ? "process " + std::to_string(process.value()) : "another process";
}

}  // namespace

Result<std::unique_ptr<YamlStateFile>> YamlStateFile::Take(const std::string& path) {
  if (path.empty()) return Status::Error("yaml: no file is named; expected the path of one");
  std::unique_ptr<YamlStateFile> file(new YamlStateFile(path));
  std::error_code error;
  file->target_ = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error).string() : path;
  if (file->target_.empty()) file->target_ = path;
  const fs::path directory = fs::path(file->target_).parent_path();
  error.clear();
  if (!directory.empty()) fs::create_directories(directory, error);
  if (error) return Status::Error(path + ": its directory cannot be made: " + error.message());
  Status locked = file->Lock();
  if (!locked.ok()) return locked;
  return file;
}

// flock, not fcntl: those locks belong to the process, a second store in it would get one too. The lock's file stays:
// were it removed, one who has it open and one who makes it anew would both hold "the" lock.
Status YamlStateFile::Lock() {
  const std::string name = target_ + ".lock";
  lock_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0)
    return Status::Error(path_ + ": its lock " + name + " cannot be written: " + std::strerror(errno) +
                         "; the directory must be writable");
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Status::Error(path_ + ": cannot lock " + name + ": " + std::strerror(errno));
    return Status::Error(path_ + " is in use by " + HolderIn(lock_) +
                         "; stop it, name another file, or share a SQLite file (sqlite:PATH)");
  }
  // What it says is only for the reader; on a full disk the lock holds without it.
  const std::string holder = std::to_string(getpid()) + "\n";
  if (ftruncate(lock_, 0) != 0 || pwrite(lock_, holder.data(), holder.size(), 0) < 0) errno = 0;
  return {};
}

YamlStateFile::~YamlStateFile() {
  if (lock_ >= 0) close(lock_);
}

Result<std::optional<std::string>> YamlStateFile::Read(size_t most) const {
  const auto failed = [&] { return Status::Error(path_ + ": cannot be read: " + std::strerror(errno)); };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(target_.c_str(), "rbe"), std::fclose);
  if (file == nullptr) {
    if (errno == ENOENT) return std::optional<std::string>();
    return failed();
  }
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (text.size() <= most) {
    const size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get());
    text.append(buffer.data(), got);
    if (got == 0) break;
  }
  if (std::ferror(file.get()) != 0) return failed();
  return std::optional(std::move(text));
}

Status YamlStateFile::WriteBeside(std::string_view text) const {
  const std::string name = target_ + ".new";
  (void)unlink(name.c_str());  // left by who was killed while writing it
  struct stat before {};
  const mode_t mode = stat(target_.c_str(), &before) == 0 ? before.st_mode & 07777 : 0644;
  const Descriptor file(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  const bool written = file.number() >= 0 && WriteAll(file.number(), text) && fsync(file.number()) == 0;
  if (written && rename(name.c_str(), target_.c_str()) == 0) return {};
  const int error = errno;
  if (file.number() >= 0) (void)unlink(name.c_str());
  return Status::Error(path_ + ": cannot be written: " + std::strerror(error) +
                       "; the file from before stands, and writing is tried again");
}

Status YamlStateFile::Replace(std::string_view text) const {
  Status status = WriteBeside(text);
  if (status.ok()) SyncDirectoryOf(target_);
  return status;
}

}  // namespace weir
