// Reads the texts of RocksDB's properties rocksdb.cfstats and rocksdb.dbstats. A program in any language can ask for
// them, and RocksDB writes them into its LOG now and then. These functions read the texts of the versions 6 to 11.
//
// The texts are rounded: sums of bytes to some MiB, sizes of levels to four digits. So the counters from a text differ
// from those of an open database by as much, and what is 0 there may be a little below or above 0 here.
#pragma once

#include <string_view>

#include "monitors/lsm_counters.h"

namespace weir {

// Returns the counters in the text of rocksdb.cfstats; a counter that is missing there is 0. The bytes that went from
// L0 into the base level are the flushed and ingested bytes less those that are in L0; so after the database was
// opened, they begin below 0.
RocksDbCounters ParseCountersText(std::string_view cfstats, int base_level);

struct DbStatsText {
  double uptime_seconds = 0;
  double user_bytes = 0;       // bytes that the program has written
  double stalled_seconds = 0;  // time for which RocksDB made writes wait, summed over the writing threads
};
// Returns the figures in the text of rocksdb.dbstats; a figure that is missing there is 0.
DbStatsText ParseDbStatsText(std::string_view dbstats);

}  // namespace weir
