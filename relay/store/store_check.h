// Whether a database is whole: every record is an event, every index entry that it should have is there and no other
// is, no event is there that its author deleted, and the counters are right.
//
// Reads the events once and the index once and compares sums; only where these differ is it looked up entry by entry
// which ones do. Works on a snapshot, in a store that is open for reading only as in one that is being written to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/status.h"
#include "relay/store/rocksdb_store.h"

namespace weir {

struct CheckOptions {
  bool signatures = false;  // also parses every event again: its id, and its record's head and tags; 50 µs an event
  size_t examples = 5;      // of each kind of finding
};

struct CheckReport {
  struct Finding {
    std::string what;
    uint64_t count = 0;
    std::vector<std::string> examples;
  };

  uint64_t events = 0;
  uint64_t entries = 0;  // of the index
  uint64_t marks = 0;    // of deleted events and vanished authors
  uint64_t more = 0;     // events and marks of the second, where that is no finding (store_compare.h)
  std::vector<Finding> findings;

  bool clean() const { return findings.empty(); }
};

// The error is that it could not be checked; what is wrong with the database is in the report.
Result<CheckReport> CheckStore(const RocksDbStore& store, const CheckOptions& options = {});

// For a terminal, with line feeds at the end: what was found, and with it what was looked at.
std::string FindingsText(const CheckReport& report);
std::string ToText(const CheckReport& report);

}  // namespace weir
