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
#include <future>
#include <string_view>
#include <thread>
#include <utility>

#include "config/text/readable.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

constexpr int kMostSyncs = 24;
constexpr Seconds kLongestMeasurement{2};
constexpr std::chrono::seconds kPatience{5};

struct FileSystem {
  uint64_t magic;  // statfs::f_type
  const char* name;
};
constexpr const char* kBtrfs = "btrfs";
constexpr FileSystem kFileSystems[] = {{0x01021994, "tmpfs"}, {0x858458f6, "tmpfs"}, {0x6969, "NFS"},
                                       {0x517b, "SMB"},       {0xff534d42, "SMB"},   {0xfe534d42, "SMB"},
                                       {0x9123683e, kBtrfs}};

std::string_view NameOfFileSystem(const std::string& path) {
  struct statfs found {};
  if (statfs(path.c_str(), &found) != 0) return "";
  const auto magic = static_cast<uint64_t>(found.f_type) & 0xffffffff;
  for (const FileSystem& system : kFileSystems)
    if (system.magic == magic) return system.name;
  return "";
}

// A temporary file for the measurement. It has no name if possible: the kernel then deletes it even if this program
// crashes. On Btrfs the file has a name, because Btrfs does not sync a file without one.
class TrialFile {
 public:
  explicit TrialFile(const std::string& directory) {
    if (NameOfFileSystem(directory) != kBtrfs) {
      descriptor_ = open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
      if (descriptor_ >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return;
    }
    name_ = directory + "/.weir-doctor-XXXXXX";
    descriptor_ = mkostemp(name_.data(), O_CLOEXEC);
  }
  ~TrialFile() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    if (!name_.empty()) unlink(name_.c_str());
  }
  TrialFile(const TrialFile&) = delete;
  TrialFile& operator=(const TrialFile&) = delete;
  int descriptor() const { return descriptor_; }  // negative if no file could be made; errno says why

 private:
  std::string name_;
  int descriptor_ = -1;
};

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

// Returns the path if it exists, else the nearest directory above it that exists.
fs::path Existing(const std::string& path) {
  std::error_code error;
  fs::path existing = fs::absolute(path, error).lexically_normal();
  while (!fs::exists(existing, error) && existing.has_relative_path()) existing = existing.parent_path();
  return existing;
}

// Returns true if users other than the owners may pass through all directories above the path.
bool IsReachable(const std::string& path) {
  std::error_code error;
  for (fs::path above = fs::absolute(path, error).lexically_normal().parent_path();; above = above.parent_path()) {
    struct stat found {};
    if (stat(above.c_str(), &found) == 0 && (found.st_mode & 0011) == 0) return false;
    if (!above.has_relative_path()) return true;
  }
}

DirectoryFacts Look(const std::string& path, const std::string& holds, bool measure, std::vector<std::string>* unseen) {
  DirectoryFacts facts{.path = path, .holds = holds};
  struct stat found {};
  facts.exists = stat(path.c_str(), &found) == 0;
  if (!facts.exists && errno != ENOENT) {
    facts.is_file = errno == ENOTDIR;
    unseen->push_back("the directory " + AsText(path) + WhyUnseen(errno));
    return facts;
  }
  facts.is_file = facts.exists && !S_ISDIR(found.st_mode);
  if (facts.is_file) return facts;
  facts.others = facts.exists && IsReachable(path) ? found.st_mode & 0077 : 0;
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
  if (const std::string_view name = NameOfFileSystem(existing); name != kBtrfs) facts.file_system = name;
  if (!measure || facts.read_only) return facts;
  const TrialFile file(existing);
  if (file.descriptor() < 0) {
    unseen->push_back("how long an fsync takes in " + AsText(existing) + WhyUnseen(errno));
    return facts;
  }
  facts.syncs = MeasureSyncs(file.descriptor());
  return facts;
}

}  // namespace

std::string WhyUnseen(int error) {
  return ": " + std::string(std::strerror(error)) +
         (error == EACCES ? "; run this as the user of the relay, or as root" : "");
}

// Calls Look on a detached thread, because the call never returns if the disk hangs.
DirectoryFacts LookAtDirectory(const std::string& path, const std::string& holds, bool measure,
                               std::vector<std::string>* unseen) {
  struct Seen {
    DirectoryFacts facts;
    std::vector<std::string> unseen;
  };
  std::promise<Seen> promise;
  std::future<Seen> future = promise.get_future();
  std::thread([path, holds, measure, promise = std::move(promise)]() mutable {
    Seen seen;
    seen.facts = Look(path, holds, measure, &seen.unseen);
    promise.set_value(std::move(seen));
  }).detach();
  if (future.wait_for(kPatience) != std::future_status::ready) return {.path = path, .holds = holds, .hangs = true};
  Seen seen = future.get();
  unseen->insert(unseen->end(), seen.unseen.begin(), seen.unseen.end());
  return std::move(seen.facts);
}

}  // namespace weir
