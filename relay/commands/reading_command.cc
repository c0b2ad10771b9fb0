#include "relay/commands/reading_command.h"

#include <filesystem>
#include <limits>
#include <utility>

#include "config/text/parse.h"
#include "relay/relay.h"

namespace weir {
namespace {

struct Where {
  StorageSettings storage;
  std::string data_dir;
};

// Loads only these two settings, because a command that reads does not need the others to be right.
Result<Where> WhereToRead(const ReadingFlags& flags) {
  RelayConfiguration defaults;
  Where where{.storage = {}, .data_dir = defaults.data_dir};
  SettingTable table;
  table.Add("DATA_DIR", &where.data_dir, "where the events are kept");
  table.Add("STORE", &where.storage.store, "where the events are");
  if (Status status = table.Load(ProcessEnvironment()); !status.ok()) return status;
  if (Status known = CheckStore(where.storage.store); !known.ok()) return known;
  if (!flags.data_dir.empty()) where = {.storage = {}, .data_dir = flags.data_dir};
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
  return OpenForReading(where.value().storage, where.value().data_dir);
}

Result<std::unique_ptr<RocksDbStore>> OpenDatabaseForReading(const ReadingFlags& flags) {
  Result<Where> where = WhereToRead(flags);
  if (!where.ok()) return where.status();
  if (IsEmbedded(where.value().storage)) return OpenDatabaseForReading(where.value().data_dir + "/events");
  return Status::Error("this looks into the database of a data directory, and WEIR_STORE is " +
                       StoreName(where.value().storage.store) +
                       ", which keeps its own indexes right; name a directory with --data-dir");
}

Result<std::unique_ptr<RocksDbStore>> OpenNamedDatabase(const std::string& directory) {
  std::error_code error;
  const std::string inner = directory + "/events";
  return OpenDatabaseForReading(std::filesystem::is_directory(inner, error) ? inner : directory);
}

Result<std::vector<Filter>> ParseFilters(const std::vector<std::string>& texts, bool may_search) {
  std::vector<Filter> filters;
  for (const std::string& text : texts) {
    Result<Filter> filter = ParseFilter(text, {.max_values = std::numeric_limits<size_t>::max(), .search = may_search});
    if (!filter.ok()) return Status::Error("the filter " + text + " is wrong: " + filter.status().message());
    filters.push_back(std::move(filter).value());
  }
  return filters;
}

}  // namespace weir
