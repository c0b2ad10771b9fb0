#include "relay/doctor/directory_facts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "config/text/readable.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

constexpr int kMostSyncs = 24;
constexpr Seconds kLongestMeasurement{2};

struct FileSystem {
  uint64_t magic;  // as statfs numbers them
  const char* name;
};
constexpr FileSystem kFileSystems[] = {{0x01021994, "tmpfs"}, {0x858458f6, "tmpfs"}, {0x6969, "NFS"},
                                       {0x517b, "SMB"},       {0xff534d42, "SMB"},   {0xfe534d42, "SMB"}};

std::string NameOfFileSystem(const std::string& path) {
  struct statfs found {};
  if (statfs(path.c_str(), &found) != 0) return "";
  const auto magic = static_cast<uint64_t>(found.f_type) & 0xffffffff;
  for (const FileSystem& system : kFileSystems)
    if (system.magic == magic) return system.name;
  return "";
}

// Without a name it is gone whatever happens; errno says why there is none.
int OpenNameless(const std::string& directory) {
  const int file = open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  std::string name = directory + "/.weir-doctor-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

std::optional<SyncFacts> MeasureSyncs(int file) {
  const std::string block(4096, 'w');
  std::vector<Seconds> times;
  const auto begin = std::chrono::steady_clock::now();
  while (times.size() < kMostSyncs) {
    if (write(file, block.data(), block.size()) != static_cast<ssize_t>(block.size())) break;
    const auto before = std::chrono::steady_clock::now();
    if (fdatasync(file) != 0) break;
    const auto after = std::chrono::steady_clock::now();
    times.emplace_back(after - before);
    if (after - begin > kLongestMeasurement) break;
  }
  if (times.empty()) return std::nullopt;
  std::ranges::sort(times);
  return SyncFacts{.count = static_cast<int>(times.size()), .median = times[times.size() / 2], .worst = times.back()};
}

// It, or the nearest above that there is.
fs::path Existing(const std::string& path) {
  std::error_code error;
  fs::path existing = fs::absolute(path, error).lexically_normal();
  while (!fs::exists(existing, error) && existing.has_relative_path()) existing = existing.parent_path();
  return existing;
}

}  // namespace

std::string WhyUnseen(int error) {
  return ": " + std::string(std::strerror(error)) +
         (error == EACCES ? "; run this as the user of the relay, or as root" : "");
}

DirectoryFacts LookAtDirectory(const std::string& path, const std::string& holds, bool measure,
                               std::vector<std::string>* unseen) {
  DirectoryFacts facts{.path = path, .holds = holds};
  struct stat found {};
  facts.exists = stat(path.c_str(), &found) == 0;
  facts.others = facts.exists ? found.st_mode & 0077 : 0;
  const std::string existing = Existing(path).string();
  struct statvfs disk {};
  if (statvfs(existing.c_str(), &disk) != 0) {
    unseen->push_back("the disk of " + AsText(path) + WhyUnseen(errno));
    return facts;
  }
  facts.bytes = uint64_t{disk.f_blocks} * disk.f_frsize;
  facts.free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  facts.files = disk.f_files;
  facts.free_files = disk.f_favail;
  facts.read_only = (disk.f_flag & ST_RDONLY) != 0;
  facts.file_system = NameOfFileSystem(existing);
  if (!measure || facts.read_only) return facts;
  const int file = OpenNameless(existing);
  if (file < 0) {
    unseen->push_back("how long an fsync takes in " + AsText(existing) + WhyUnseen(errno));
    return facts;
  }
  facts.syncs = MeasureSyncs(file);
  close(file);
  return facts;
}

}  // namespace weir
