// Checks whether a RocksDB of events is undamaged: its files and logs can be read, every record is an event that a
// store keeps, the index has every entry that it should have and no other, no event is stored that was deleted or that
// should have vanished, and the counters are right. `weir check` uses it.
//
// The check reads all events and the whole index once. For each kind of index entry (keys.h) it adds up two sums of
// hashes: one of the entries that the events should have, and one of the entries that the index has. Only if the two
// differ does it look for the wrong entries. The check works on a snapshot, so the store may be written to meanwhile;
// the store may also be open for reading only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/status.h"
#include "relay/store/rocksdb_store.h"

namespace weir {

struct CheckOptions {
  bool signatures = false;  // also parses every event again and checks id, record and signature; 50 µs an event
  size_t examples = 5;      // the highest number of examples for each kind of finding
};

struct CheckReport {
  struct Finding {
    std::string what;  // the kind of damage or difference, such as "stray index entry i"
    uint64_t count = 0;
    std::vector<std::string> examples;
  };

  uint64_t events = 0;   // number of events
  uint64_t entries = 0;  // number of index entries
  uint64_t marks = 0;    // number of marks of deleted ids and addresses and of vanished authors
  uint64_t more = 0;     // for comparisons only: number of differences that are no findings (store_compare.h)
  std::vector<Finding> findings;

  bool clean() const { return findings.empty(); }
};

// Checks the database. Damage is in the report; an error means that the check itself failed.
Result<CheckReport> CheckStore(const RocksDbStore& store, const CheckOptions& options = {});

// Returns the findings as text for a terminal, one or more lines for each; empty if there are none.
std::string FindingsText(const CheckReport& report);
// Returns the same text with a line before it that says how many events, entries and marks were checked.
std::string ToText(const CheckReport& report);

}  // namespace weir
