#include "relay/reading_command.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "relay/relay.h"

namespace weir {
namespace {

// Beside a relay that has a target of its own.
constexpr uint64_t kMemoryBytes = 256ull << 20;

Result<std::unique_ptr<RocksDbStore>> Open(const std::string& path) {
  return RocksDbStore::Open({.path = path, .memory_target_bytes = kMemoryBytes, .read_only = true, .create = false});
}

}  // namespace

void AddTo(CLI::App& app, ReadingFlags& flags) {
  app.add_option("--data-dir", flags.data_dir, "the relay's data directory (default: WEIR_DATA_DIR, else ./data)");
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

}  // namespace weir
