// RelayEvents: the content of a relay's database: events and their index entries, in the relay's own layout and with
// its own options.
//
// The records have the kinds, tags and texts of the load generator's events (bench/relay/event_maker.h), each with an
// id, an author and a time of its own. The content does without the relay's work before a write (replacements,
// deletions).
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "bench/storm/content.h"

namespace weir {

class RelayEvents final : public StormContent {
 public:
  // The database already has the events with the sequence numbers 1 to `stored`. The constructor makes and signs some
  // hundred events.
  explicit RelayEvents(uint64_t stored);

  void AddInteractive(const StormDatabase& database, std::mt19937_64& random,
                      rocksdb::WriteBatch* batch) const override;
  void AddBulk(const StormDatabase& database, std::mt19937_64& random, rocksdb::WriteBatch* batch) const override;
  // Reads one event by its id.
  rocksdb::Status Get(const StormDatabase& database, std::mt19937_64& random) const override;
  // Reads the newest notes before a random moment, as a client that scrolls back does.
  rocksdb::Status Scan(const StormDatabase& database, std::mt19937_64& random, int values) const override;

 private:
  std::string RecordOf(uint64_t serial, std::mt19937_64& random) const;

  std::vector<std::string> records_;
  mutable std::atomic<uint64_t> last_serial_;
};

// These return the relay's own options.
rocksdb::DBOptions RelayDatabaseOptions(const StormShape& shape);
std::vector<rocksdb::ColumnFamilyDescriptor> RelayFamilies(const StormShape& shape);

}  // namespace weir
