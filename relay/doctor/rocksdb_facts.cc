#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "config/text/readable.h"
#include "relay/doctor/database_facts.h"
#include "relay/doctor/directory_facts.h"
#include "relay/process/lock_file.h"
#include "relay/store/database.h"
#include "relay/store/engine_log.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostLogBytes = 256 << 20;

void CountFiles(RocksDbFacts* facts, double now_seconds) {
  std::error_code error;
  for (fs::directory_iterator file(facts->path, error), end; !error && file != end; file.increment(error)) {
    struct stat found {};
    if (stat(file->path().c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    ++facts->files;
    facts->bytes += static_cast<uint64_t>(found.st_size);
    if (file->path().extension() == ".log") facts->log_bytes += static_cast<uint64_t>(found.st_size);
    facts->future_seconds = std::max(facts->future_seconds, static_cast<double>(found.st_mtim.tv_sec) - now_seconds);
  }
}

}  // namespace

std::optional<RocksDbFacts> LookAtRocksDb(const std::string& path, double now_seconds,
                                          std::vector<std::string>* unseen) {
  RocksDbFacts facts{.path = path};
  if (access(path.c_str(), R_OK | X_OK) != 0) {
    if (errno == ENOENT) return facts;
    unseen->push_back("the database " + AsText(path) + WhyUnseen(errno));
    return std::nullopt;
  }
  for (const std::string& file : {path + "/" + LockFile::kName, path + "/CURRENT"}) {
    if (access(file.c_str(), R_OK) == 0 || errno == ENOENT) continue;
    unseen->push_back("the database's file " + AsText(file) + WhyUnseen(errno));
    return std::nullopt;
  }
  facts.holder = HolderOf(path);
  std::error_code error;
  facts.exists = fs::exists(path + "/CURRENT", error);
  CountFiles(&facts, now_seconds);
  facts.corruption = NewestCorruption(path, WallTime(FromSeconds(now_seconds)));
  if (!facts.exists || facts.holder) return facts;
  if (facts.log_bytes > kMostLogBytes) {
    unseen->push_back("whether the database " + AsText(path) + " is whole: " + ReadableBytes(facts.log_bytes) +
                      " of log would be read into memory");
    return facts;
  }
  facts.recognised = RecogniseDatabase(path);
  // A process may have opened the database meanwhile and changed files under the check, so its result is dropped.
  facts.holder = HolderOf(path);
  if (facts.holder) facts.recognised = Status();
  return facts;
}

}  // namespace weir
