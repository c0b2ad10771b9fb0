#include "throttle/limits/quota/yaml_state_file.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "config/replace_file.h"
#include "config/sync_directory.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

}  // namespace

Result<std::unique_ptr<YamlStateFile>> YamlStateFile::Take(const std::string& path) {
  if (path.empty()) return Status::Error("yaml: no file is named; expected the path of one");
  std::unique_ptr<YamlStateFile> file(new YamlStateFile(path));
  std::error_code error;
  file->target_ = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error).string() : path;
  if (file->target_.empty()) file->target_ = path;
  const fs::path directory = fs::path(file->target_).parent_path();
  error = directory.empty() ? std::error_code() : MakeDirectories(directory.string());
  if (error) return Status::Error(path + ": its directory cannot be made: " + error.message());
  Status locked = file->Lock();
  if (!locked.ok()) return locked;
  return file;
}

// Never removes the lock file: a process of an earlier version would still hold the removed file, while another takes a
// new one.
Status YamlStateFile::Lock() {
  const std::string name = target_ + ".lock";
  const HeldFile::Outcome outcome = lock_.Open(name);
  if (outcome == HeldFile::Outcome::kFailed)
    return Status::Error(path_ + ": its lock " + name + " cannot be written: " + std::strerror(errno) +
                         "; the directory must be writable");
  if (outcome == HeldFile::Outcome::kInUse)
    return Status::Error(path_ + " is in use by " + Describe(FindHolder(name).value_or(LockHolder())) +
                         "; stop it, name another file, or share a SQLite file (sqlite:PATH)");
  lock_.Say(std::to_string(getpid()) + "\n");
  return {};
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

Status YamlStateFile::Replace(std::string_view text) const {
  if (ReplaceFile(target_, text)) return {};
  return Status::Error(path_ + ": cannot be written: " + std::strerror(errno) +
                       "; the file from before stands, and writing is tried again");
}

}  // namespace weir
