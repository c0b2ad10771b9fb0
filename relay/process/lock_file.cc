#include "relay/process/lock_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace weir {
namespace {

std::string PathIn(const std::string& directory) { return directory + "/" + LockFile::kName; }

// Returns the program's name, without its path, and its first argument, as ps shows them: "weir relay".
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

}  // namespace

std::optional<LockHolder> HolderOf(const std::string& directory) { return FindHolder(PathIn(directory)); }

bool HasLockOpen(int process, const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator file("/proc/" + std::to_string(process) + "/fd", error), end; !error && file != end;
       file.increment(error)) {
    std::error_code gone;
    if (fs::equivalent(file->path(), PathIn(directory), gone)) return true;
  }
  return false;
}

Result<LockFile> LockFile::Take(const std::string& directory, const std::string& address) {
  const std::string path = PathIn(directory);
  LockFile lock;
  const HeldFile::Outcome outcome = lock.file_.Open(path, HeldFile::Links::kRefuse);
  if (outcome == HeldFile::Outcome::kFailed) return Status::Error("cannot write " + path + ": " + std::strerror(errno));
  if (outcome == HeldFile::Outcome::kInUse)
    return Status::Error(directory + " is in use by " + Describe(FindHolder(path).value_or(LockHolder())) +
                         "; stop it, or name another directory");
  lock.file_.Say(std::to_string(getpid()) + " " + OwnName() + "\n" + (address.empty() ? "" : address + "\n"));
  return lock;
}

// Does not delete the file, because a process of another version of weir might then hold the lock of the deleted file.
LockFile::~LockFile() {
  if (file_.is_open()) file_.Say("");
}

}  // namespace weir
