// Reads the options of a RocksDB from its texts: from a file OPTIONS-NNNNNN, which RocksDB writes into the directory of
// the database when it is opened and whenever an option changes, or, line by line, from the head of its LOG.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "monitors/lsm_options.h"

namespace weir {

// Sets the member with this name, which is RocksDB's, to the value as RocksDB writes it. Returns false if LsmOptions
// has no such member, or if the value is none: `options` is as before then.
bool SetLsmOption(std::string_view name, std::string_view value, LsmOptions* options);

struct OptionsText {
  struct Family {
    std::string name;
    LsmOptions options;
  };
  std::string rocksdb_version;  // such as "7.8.3"; empty: not known
  // The options of the database. Their names and defaults are RocksDB's.
  uint64_t db_write_buffer_size = 0;  // a limit of all memtables together; 0: none
  uint64_t delayed_write_rate = 0;    // 0: that of the rate limiter, or else 16 MiB/s
  int max_background_jobs = 2;
  int max_subcompactions = 1;
  uint64_t stats_dump_period_sec = 600;
  std::vector<Family> families;

  const Family* Find(std::string_view name) const;
};

// Does the same for the options of the database in OptionsText.
bool SetDbOption(std::string_view name, std::string_view value, OptionsText* options);

// Returns an error if the text has no section of a column family, as that of another file.
Result<OptionsText> ParseOptionsText(std::string_view text);

// Returns the file OPTIONS-NNNNNN with the highest number in the directory of a database; an error if there is none.
Result<std::filesystem::path> NewestOptionsFile(const std::filesystem::path& directory);
// Returns the options in that file.
Result<OptionsText> ReadNewestOptions(const std::filesystem::path& directory);

}  // namespace weir
