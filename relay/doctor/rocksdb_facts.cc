#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "config/text/readable.h"
#include "config/text/rfc3339.h"
#include "relay/doctor/database_facts.h"
#include "relay/doctor/directory_facts.h"
#include "relay/store/database.h"
#include "relay/store/lock_file.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr std::streamoff kTailBytes = 256 << 10;
constexpr double kRecentSeconds = 30 * 86400;
constexpr uint64_t kMostLogBytes = 256 << 20;

// Of those of a month; what is older was seen to, or does no harm.
std::string NewestCorruption(const std::string& path, double now_seconds) {
  std::ifstream log(path, std::ios::binary);
  log.seekg(0, std::ios::end);
  log.seekg(std::max<std::streamoff>(0, log.tellg() - kTailBytes));
  std::string newest;
  for (std::string line; std::getline(log, line);) {
    if (line.find("Corruption") == line.npos) continue;
    const auto time = ParseTime(line.substr(0, line.find(' ')));
    if (time && now_seconds - ToSeconds(time->time_since_epoch()) < kRecentSeconds) newest = line.substr(0, 300);
  }
  return AsText(newest);
}

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
  facts.corruption = NewestCorruption(path + "/LOG", now_seconds);
  if (!facts.exists || facts.holder) return facts;
  if (facts.log_bytes > kMostLogBytes) {
    unseen->push_back("whether the database " + AsText(path) + " is whole: " + ReadableBytes(facts.log_bytes) +
                      " of log would be read into memory");
    return facts;
  }
  facts.recognised = RecogniseDatabase(path);
  // Somebody may have begun to write meanwhile.
  facts.holder = HolderOf(path);
  if (facts.holder) facts.recognised = Status();
  return facts;
}

}  // namespace weir
