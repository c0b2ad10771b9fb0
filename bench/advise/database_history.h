// DatabaseHistory: what a RocksDB went through, as far as its LOG files and OPTIONS file say (history_reader.h).
#pragma once

#include <string>
#include <vector>

#include "bench/advise/stall_conditions.h"
#include "bench/advise/timeline.h"
#include "monitors/lsm_counters.h"
#include "monitors/rocksdb_text/options_text.h"

namespace weir {

struct FamilyHistory {
  std::string name;
  LsmOptions options;          // the ones with the most stalls, or else the last ones
  bool options_known = false;  // false: `options` are RocksDB's defaults
  StallTotals stalls{};
  uint64_t flushes = 0;
  uint64_t flushed_memtables = 0;
  double flushed_bytes = 0;  // bytes on disk of flushed tables
  uint64_t compactions = 0;
  double compacted_bytes = 0;  // bytes that compactions wrote
  double busy_seconds = 0;     // time in which a flush or compaction of the family ran
  uint64_t most_l0_files = 0;
  std::vector<double> first_levels;  // bytes of each level when the LOG begins; empty: not known
  std::vector<double> last_levels;
  // Counts of stalls within the LOG by RocksDB's name of the cause (kStallCounters), since the database was last
  // opened.
  std::map<std::string, uint64_t> stall_counts;
  Timeline timeline;

  double stalled_seconds() const;  // sum over the limits; conditions of one family do not overlap
};

struct DatabaseHistory {
  std::string path;
  std::vector<std::string> notes;  // sentences about missing or doubtful parts
  std::string version;             // RocksDB's; empty: not known
  uint64_t log_bytes = 0;
  uint64_t lines = 0;  // lines that begin with a time; 0: there is no log
  LogTime begin{};
  LogTime end{};
  double logged_seconds = 0;  // without the times in which the database was closed
  uint64_t runs = 0;          // how often the database was opened within the LOG

  OptionsText options;  // options of the whole database; it has no families
  std::vector<FamilyHistory> families;

  double delayed_seconds = 0;  // time in which RocksDB's conditions held (stall_conditions.h)
  double stopped_seconds = 0;
  uint64_t statistics = 0;       // how often RocksDB wrote its statistics
  double measured_seconds = 0;   // stalled time by RocksDB's own measurement
  double covered_seconds = 0;    // time that the measurement covers
  double uncovered_stalled = 0;  // time in which conditions held, outside the covered time
  double user_bytes = 0;         // bytes that the program wrote in the covered time
  uint64_t buffer_manager_stops = 0;
  std::vector<StallEpisode> episodes;
  Timeline timeline;  // sums over all families

  // Returns the best figure for the stalled time: the measured time, and the conditions where there is no measurement.
  double stalled_seconds() const { return measured_seconds + uncovered_stalled; }
  // Returns the family whose conditions held longest, or else the one that was written most; nullptr if there is none.
  const FamilyHistory* Busiest() const;
};

}  // namespace weir
