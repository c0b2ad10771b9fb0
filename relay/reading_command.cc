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

struct Where {
  std::string store;
  std::string data_dir;
};

// These settings only: whoever reads need not have the others right.
Result<Where> WhereToRead(const ReadingFlags& flags) {
  RelayConfiguration defaults;
  Where where{.store = defaults.storage.store, .data_dir = defaults.data_dir};
  SettingTable table;
  table.Add("DATA_DIR", &where.data_dir, "where the events are kept");
  table.Add("STORE", &where.store, "where the events are");
  if (Status status = table.Load(ProcessEnvironment()); !status.ok()) return status;
  if (Status known = CheckStore(where.store); !known.ok()) return known;
  if (!flags.data_dir.empty()) where = {.store = defaults.storage.store, .data_dir = flags.data_dir};
  return where;
}

}  // namespace

void AddTo(CommandLine& line, ReadingFlags& flags) {
  line.Add("--data-dir", &flags.data_dir,
           "the relay's data directory (default: WEIR_STORE, else WEIR_DATA_DIR, else ./data)");
}

Result<std::unique_ptr<EventStore>> OpenForReading(const ReadingFlags& flags) {
  Result<Where> where = WhereToRead(flags);
  if (!where.ok()) return where.status();
  if (IsPostgres(where.value().store)) {
    auto opened = PostgresStore::Open({.conninfo = where.value().store, .read_only = true, .create = false});
    if (!opened.ok()) return opened.status();
    return std::unique_ptr<EventStore>(std::move(opened).value());
  }
  Result<std::unique_ptr<RocksDbStore>> opened = Open(where.value().data_dir + "/events");
  if (!opened.ok()) return opened.status();
  return std::unique_ptr<EventStore>(std::move(opened).value());
}

Result<std::unique_ptr<RocksDbStore>> OpenDatabaseForReading(const ReadingFlags& flags) {
  Result<Where> where = WhereToRead(flags);
  if (!where.ok()) return where.status();
  if (!IsPostgres(where.value().store)) return Open(where.value().data_dir + "/events");
  return Status::Error("this looks into the database of a data directory, and WEIR_STORE is " +
                       StoreName(where.value().store) +
                       ", which keeps its own indexes right; name a directory with --data-dir");
}

Result<std::unique_ptr<RocksDbStore>> OpenDatabaseForReading(const std::string& directory) {
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
