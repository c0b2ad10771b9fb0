// Flags and functions for the commands that read a relay's database, such as weir scan and weir check. The relay may be
// running at the same time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/command_line.h"
#include "config/status.h"
#include "relay/nostr/filter.h"
#include "relay/store/storage/storage.h"

namespace weir {

struct ReadingFlags {
  std::string data_dir;  // --data-dir; if empty, WEIR_STORE and WEIR_DATA_DIR say where the events are
};

// Adds --data-dir to the command line. `flags` must live until `line` has been parsed.
void AddTo(CommandLine& line, ReadingFlags& flags);
// Opens the stored events for reading: with --data-dir the RocksDB in that directory, else the store that WEIR_STORE
// names, by default the RocksDB in WEIR_DATA_DIR. Returns an error if these settings are wrong or the store cannot be
// opened.
Result<std::unique_ptr<EventStore>> OpenForReading(const ReadingFlags& flags);
// Opens the same store, but returns an error if it is in PostgreSQL.
Result<std::unique_ptr<RocksDbStore>> OpenDatabaseForReading(const ReadingFlags& flags);
// Opens a RocksDB for reading. `directory` is the database's own directory, or a data directory with the database in
// its subdirectory `events`.
Result<std::unique_ptr<RocksDbStore>> OpenNamedDatabase(const std::string& directory);

// Parses filters as a REQ has them (NIP-01), but with any number of values. The error quotes the first filter that is
// wrong. `may_search` says whether they may have the field "search" (NIP-50).
Result<std::vector<Filter>> ParseFilters(const std::vector<std::string>& texts, bool may_search = false);

}  // namespace weir
