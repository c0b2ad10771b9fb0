#include "relay/reading_command.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <utility>

#include "config/text/parse.h"
#include "relay/relay.h"

namespace weir {
namespace {

// Beside a relay that has a target of its own.
constexpr uint64_t kMemoryBytes = 256ull << 20;

Result<std::unique_ptr<RocksDbStore>> Open(const std::string& path) {
  if (access(path.c_str(), R_OK | X_OK) != 0 && errno == EACCES) {
    return Status::Error("cannot read " + Printable(path) +
                         ": Permission denied; run this as the user of the relay, or as root");
  }
  return RocksDbStore::Open({.path = path, .memory_target_bytes = kMemoryBytes, .read_only = true, .create = false});
}

}  // namespace

void AddTo(CommandLine& line, ReadingFlags& flags) {
  line.Add("--data-dir", &flags.data_dir, "the relay's data directory (default: WEIR_DATA_DIR, else ./data)");
}

Result<std::unique_ptr<RocksDbStore>> OpenForReading(const ReadingFlags& flags) {
  // This one setting only: whoever reads need not have the others right.
  std::string data_dir = RelayConfiguration().data_dir;
  SettingTable table;
  table.Add("DATA_DIR", &data_dir, "where the events are kept");
  if (Status status = table.Load(ProcessEnvironment()); !status.ok()) return status;
  if (!flags.data_dir.empty()) data_dir = flags.data_dir;
  return Open(data_dir + "/events");
}

Result<std::unique_ptr<RocksDbStore>> OpenForReading(const std::string& directory) {
  std::error_code error;
  const std::string inner = directory + "/events";
  return Open(std::filesystem::is_directory(inner, error) ? inner : directory);
}

Result<std::vector<Filter>> ParseFilters(const std::vector<std::string>& texts) {
  std::vector<Filter> filters;
  for (const std::string& text : texts) {
    Result<Filter> filter = ParseFilter(text, {.max_values = std::numeric_limits<size_t>::max()});
    if (!filter.ok()) return Status::Error("the filter " + text + " is wrong: " + filter.status().message());
    filters.push_back(std::move(filter).value());
  }
  return filters;
}

}  // namespace weir
