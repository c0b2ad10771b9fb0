// A relay's database: events as they are stored, with their entries of the index, in the relay's own layout and with
// its own options.
//
// The records have the kinds, tags and texts of the load generator's events, each with an id, an author and a time of
// its own. A relay's work before it writes (replacements, deletions) is left out.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "bench/storm/content.h"

namespace weir {

class RelayEvents final : public StormContent {
 public:
  // Its database holds the events of the serials 1 to `stored` already. Makes and signs some hundred events.
  explicit RelayEvents(uint64_t stored);

  void AddInteractive(const StormDatabase& database, std::mt19937_64& random,
                      rocksdb::WriteBatch* batch) const override;
  void AddBulk(const StormDatabase& database, std::mt19937_64& random, rocksdb::WriteBatch* batch) const override;
  // Reads one by its id.
  rocksdb::Status Get(const StormDatabase& database, std::mt19937_64& random) const override;
  // Reads the newest notes before some moment, as a client that scrolls asks for.
  rocksdb::Status Scan(const StormDatabase& database, std::mt19937_64& random, int values) const override;

 private:
  std::string RecordOf(uint64_t serial, std::mt19937_64& random) const;

  std::vector<std::string> records_;
  mutable std::atomic<uint64_t> last_serial_;
};

// Return the relay's own options.
rocksdb::DBOptions RelayDatabaseOptions(const StormShape& shape);
std::vector<rocksdb::ColumnFamilyDescriptor> RelayFamilies(const StormShape& shape);

}  // namespace weir
