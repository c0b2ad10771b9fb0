// Says which options of a RocksDB brought its stalls about, and what to set. A pure function of what happened.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/advise/database_history.h"

namespace weir {

struct OptionAdvice {
  std::string family;  // empty: an option of the whole database
  std::string option;
  std::string from;
  std::string to;   // equal to `from`: leave it
  std::string why;  // a sentence
};

// Returns the name for people: "memtables", "L0 files" or "pending compaction bytes".
std::string_view NameOf(StallLimit limit);

// Returns how often RocksDB found the limit exceeded: by the lines of the LOG, or by its own counts if info_log_level
// hides the lines.
uint64_t CountOf(const FamilyHistory& family, StallLimit limit, bool stops);

// Returns the changes that fit the stalls, the family that stalled longest first. It is empty if nothing stalled.
std::vector<OptionAdvice> AdviseOptions(const DatabaseHistory& history);

// Returns the changes that PrepareRocksDb (monitors/rocksdb_options.h) makes to the family's options. They help only if
// the throttle holds the writes.
std::vector<OptionAdvice> OptionsWithWeir(const FamilyHistory& family);

}  // namespace weir
