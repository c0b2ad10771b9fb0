// A library to preload into a program. It remembers what the disk would still hold if the machine lost its power.
//
// Below WEIR_DURABLE_ROOT only three things count as on disk: what was there when the program began, the content that a
// file had at its last fsync or fdatasync, and the names that a directory had at its last fsync. Each is copied to
// WEIR_DURABLE_SHADOW at that moment; crash_image.h makes a directory of it. This is stricter than most file systems,
// which write more than they must, but it is all that they promise. Mapped and direct writes are not covered; nothing
// here makes any.
//
// Uses libc only, because it runs inside programs with allocators of their own.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace {

std::mutex mutex;

// Identifies one file for ever, even if its inode number is reused by another file later.
std::string KeyOf(int descriptor, bool* is_directory) {
  struct statx status {};
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME | STATX_TYPE, &status) != 0) return {};
  *is_directory = S_ISDIR(status.stx_mode);
  if (!*is_directory && !S_ISREG(status.stx_mode)) return {};
  char key[64];
  std::snprintf(key, sizeof key, "%llu-%lld-%u", static_cast<unsigned long long>(status.stx_ino),
                static_cast<long long>(status.stx_btime.tv_sec), status.stx_btime.tv_nsec);
  return key;
}

// Writes the copy whole or not at all, because the program may be killed at any moment.
bool Publish(const std::string& name, int from, const std::string& text) {
  const std::string path = std::string(std::getenv("WEIR_DURABLE_SHADOW")) + "/" + name;
  const int to = open((path + ".part").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (to < 0) return false;
  bool good = text.empty() || write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  char buffer[65536];
  for (ssize_t bytes = 1; good && from >= 0 && bytes > 0;) {
    bytes = read(from, buffer, sizeof buffer);
    good = bytes >= 0 && write(to, buffer, static_cast<size_t>(bytes)) == bytes;
  }
  close(to);
  return good && rename((path + ".part").c_str(), path.c_str()) == 0;
}

bool Keep(int descriptor, bool with_all_below);

bool KeepDirectory(int descriptor, const std::string& key, bool with_all_below) {
  DIR* directory = fdopendir(openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory == nullptr) return false;
  bool good = true;
  std::string names;
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    // Opens without O_NOATIME and the like. A file that is gone by now is left out.
    const int file = openat(descriptor, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    bool is_directory = false;
    const std::string of_file = KeyOf(file, &is_directory);
    if (!of_file.empty()) names.append(of_file).append(is_directory ? " d " : " f ").append(name).append("\n");
    if (with_all_below && !of_file.empty()) good = Keep(file, true) && good;
    close(file);
  }
  closedir(directory);
  return Publish("d-" + key, -1, names) && good;
}

bool Keep(int descriptor, bool with_all_below) {
  bool is_directory = false;
  const std::string key = KeyOf(descriptor, &is_directory);
  if (key.empty()) return true;  // a pipe, a terminal
  if (is_directory) return KeepDirectory(descriptor, key, with_all_below);
  const std::string itself = "/proc/self/fd/" + std::to_string(descriptor);
  const int file = open(itself.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool good = Publish("f-" + key, file, "");
  close(file);
  return good;
}

bool IsOn() { return std::getenv("WEIR_DURABLE_SHADOW") != nullptr && std::getenv("WEIR_DURABLE_ROOT") != nullptr; }

int Sync(int descriptor) {
  if (!IsOn()) return 0;
  const std::lock_guard lock(mutex);
  if (Keep(descriptor, false)) return 0;
  static const char kMessage[] = "synced_only: cannot keep a copy\n";
  (void)!write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  std::abort();
}

__attribute__((constructor)) void Begin() {
  if (!IsOn()) return;
  const int root = open(std::getenv("WEIR_DURABLE_ROOT"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool is_directory = false;
  if (root < 0 || !Keep(root, true) || !Publish("root", -1, KeyOf(root, &is_directory))) std::abort();
  close(root);
}

}  // namespace

extern "C" int fsync(int descriptor) { return Sync(descriptor); }
extern "C" int fdatasync(int descriptor) { return Sync(descriptor); }
