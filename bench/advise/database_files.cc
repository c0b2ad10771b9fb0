#include "bench/advise/database_files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "config/text/parse.h"
#include "config/text/readable.h"
#include "monitors/rocksdb_text/options_text.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOptionsPrefix = "OPTIONS-";

// The parts of a name such as "var_lib_db_LOG.old.1681032459658093".
struct LogName {
  std::string database;  // "var_lib_db_", or empty
  uint64_t rolled = std::numeric_limits<uint64_t>::max();
};

std::optional<LogName> ParseLogName(const std::string& file) {
  constexpr std::string_view kLog = "LOG", kOld = ".old.";
  LogName name;
  std::string_view rest = file;
  if (const size_t old = rest.rfind(kOld); old != rest.npos) {
    const auto rolled = ParseUnsigned(rest.substr(old + kOld.size()), {.min = 0, .max = 9e18});
    if (!rolled.ok()) return std::nullopt;
    name.rolled = rolled.value();
    rest = rest.substr(0, old);
  }
  if (!rest.ends_with(kLog)) return std::nullopt;
  rest.remove_suffix(kLog.size());
  if (!rest.empty() && !rest.ends_with('_')) return std::nullopt;
  name.database = rest;
  return name;
}

// Collects databases in the order in which the user named them.
class Found {
 public:
  void AddLog(const std::string& name, const std::string& database, const fs::path& file, uint64_t rolled) {
    At(name, database).logs.emplace(rolled, file.string());
  }
  void AddOptions(const std::string& name, const fs::path& file) { At(name, "").options = file.string(); }

  std::vector<DatabaseFiles> Take() const {
    std::vector<DatabaseFiles> all;
    for (const One& one : ones_) {
      all.push_back(
          {.name = one.database.empty() ? one.name : one.name + "/" + one.database + "LOG", .options = one.options});
      for (const auto& [rolled, file] : one.logs) all.back().logs.push_back(file);
    }
    return all;
  }

 private:
  struct One {
    std::string name;
    std::string database;
    std::multimap<uint64_t, std::string> logs;
    std::string options;
  };

  One& At(const std::string& name, const std::string& database) {
    const auto found = std::find_if(ones_.begin(), ones_.end(),
                                    [&](const One& one) { return one.name == name && one.database == database; });
    if (found != ones_.end()) return *found;
    ones_.push_back({.name = name, .database = database});
    return ones_.back();
  }

  std::vector<One> ones_;
};

Status AddDirectory(const std::string& path, Found* found) {
  std::error_code error;
  bool any = false;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    const auto log = ParseLogName(entry->path().filename().string());
    if (!log) continue;
    found->AddLog(path, log->database, entry->path(), log->rolled);
    any = true;
  }
  if (error) return Status::Error(AsText(path) + ": " + error.message());
  if (const auto options = NewestOptionsFile(path); options.ok()) {
    found->AddOptions(path, options.value());
    any = true;
  }
  if (any) return Status();
  return Status::Error(AsText(path) +
                       " has no LOG and no OPTIONS-NNNNNN: name the directory of a RocksDB, or its db_log_dir");
}

}  // namespace

Result<std::vector<DatabaseFiles>> FindDatabaseFiles(const std::vector<std::string>& paths) {
  Found found;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = path == "-" ? fs::file_status() : fs::status(path, error);
    if (path != "-" && !fs::exists(status))
      return Status::Error(AsText(path) + ": " + (error ? error.message() : "no such file or directory"));
    if (fs::is_directory(status)) {
      if (const Status added = AddDirectory(path, &found); !added.ok()) return added;
      continue;
    }
    const fs::path file(path);
    const std::string directory = file.has_parent_path() ? file.parent_path().string() : ".";
    const std::string base = file.filename().string();
    if (base.starts_with(kOptionsPrefix)) {
      found.AddOptions(directory, file);
    } else if (const auto log = ParseLogName(base)) {
      found.AddLog(directory, log->database, file, log->rolled);
    } else {
      found.AddLog(path, "", file, 0);
    }
  }
  return found.Take();
}

}  // namespace weir
