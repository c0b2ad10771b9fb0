// Shared by the commands that read a relay's database, such as weir scan and weir check: the flag that names the
// database, and functions that open it. The relay may run meanwhile.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/command_line.h"
#include "config/status.h"
#include "relay/nostr/filter.h"
#include "relay/storage/storage.h"

namespace weir {

struct ReadingFlags {
  std::string data_dir;  // --data-dir; empty: WEIR_STORE and WEIR_DATA_DIR say where the events are
};

// Adds --data-dir to the command line. `flags` must live until `line` has been parsed.
void AddTo(CommandLine& line, ReadingFlags& flags);
// Opens the stored events for reading: those in the directory of --data-dir or, without that flag, those of WEIR_STORE,
// by default the RocksDB in WEIR_DATA_DIR. Returns an error if these settings are wrong or the store cannot be opened.
Result<std::unique_ptr<EventStore>> OpenForReading(const ReadingFlags& flags);
// Does the same, but returns an error if the events are in PostgreSQL.
Result<std::unique_ptr<RocksDbStore>> OpenDatabaseForReading(const ReadingFlags& flags);
// Opens a RocksDB for reading. `directory` is the directory of the database, or the data directory whose subdirectory
// `events` is that.
Result<std::unique_ptr<RocksDbStore>> OpenNamedDatabase(const std::string& directory);

// Parses filters as in a REQ of NIP-01, with any number of values. The error quotes the first filter that is wrong.
Result<std::vector<Filter>> ParseFilters(const std::vector<std::string>& texts);

}  // namespace weir
