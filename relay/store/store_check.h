// Checks whether a database is whole: every record is an event, the index has every entry that it should have and no
// other, no event is there that its author deleted, and the counters are right.
//
// Reads the events once and the index once and compares sums; only if these differ does it look up, entry by entry,
// which ones do. Works on a snapshot, of a store that is open for reading only or of one that is being written to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/status.h"
#include "relay/store/rocksdb_store.h"

namespace weir {

struct CheckOptions {
  bool signatures = false;  // also parses every event again: its id, and its record's head and tags; 50 µs an event
  size_t examples = 5;      // for each kind of finding
};

struct CheckReport {
  struct Finding {
    std::string what;
    uint64_t count = 0;
    std::vector<std::string> examples;
  };

  uint64_t events = 0;
  uint64_t entries = 0;  // index entries
  uint64_t marks = 0;    // marks of deleted events and vanished authors
  uint64_t more = 0;     // events and marks that only the second has, if that is no finding (store_compare.h)
  std::vector<Finding> findings;

  bool clean() const { return findings.empty(); }
};

// The error is that the check failed; damage of the database is in the report.
Result<CheckReport> CheckStore(const RocksDbStore& store, const CheckOptions& options = {});

// For a terminal, with line feeds at the end: the findings, and with ToText also what was looked at.
std::string FindingsText(const CheckReport& report);
std::string ToText(const CheckReport& report);

}  // namespace weir
