// The figures that a run leaves behind: a row for each phase, in a CSV file that repetitions are added to, and a time
// line of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/status.h"

namespace weir {

struct RunKey {
  std::string shape = "recipe";
  double scale = 1;
  std::string scenario;
  std::string policy;  // with its knob, if one was set
  int repetition = 1;
  std::string label;  // an experiment's: the change that was made

  bool operator==(const RunKey&) const = default;
};

// The figures of a phase; NaN if they do not apply.
struct PhaseRow {
  RunKey run;
  std::string phase;
  std::string outcome = "ok";  // or "aborted"

  double seconds = 0;
  double writes = 0;
  double write_p50_ms = 0, write_p99_ms = 0, write_p999_ms = 0, write_max_ms = 0;
  double write_longest_gap_ms = 0;
  double refused = 0;  // interactive operations
  double read_p50_ms = 0, read_p99_ms = 0, read_p999_ms = 0;
  double scan_p50_ms = 0, scan_p99_ms = 0;
  double long_scans_per_second = 0;
  double bulk_mb_per_second = 0;
  // All bulk bytes of the run over the time of its bulk phases and until the engine had settled. The same in every row
  // of a run.
  double adjusted_bulk_mb_per_second = 0;
  double settle_seconds = 0;
  double jain_index = 0;      // over the parties' bytes
  double braked_seconds = 0;  // RocksDB slowed or stopped writes
  double escapes = 0;         // times it began to
  double highest_level = 0, mean_level = 0;
  double highest_l0_files = 0;
  double debt_mb_at_end = 0;
  double cpu_seconds = 0;
  double cpu_us_per_value = 0;  // written or read
  double peak_memory_mb = 0;    // resident
  double load_average = 0;
};

// The figures' names, as they stand in all files.
struct NumberColumn {
  const char* name;
  double PhaseRow::*number;
};
const std::vector<NumberColumn>& NumberColumns();

// Appends a row each to a file; a new file begins with a header.
Status AppendRows(const std::filesystem::path& file, const std::vector<PhaseRow>& rows);
Result<std::vector<PhaseRow>> ReadRows(const std::filesystem::path& file);

struct TimelineRow {
  double second = 0;
  std::string phase;
  double level = 0;  // highest signal that acts on writes
  std::string signal;
  double l0_level = 0, memtables_level = 0, debt_level = 0, memory_level = 0;
  double limit_mb_per_second = 0;  // infinite: open, or none
  std::string reason;
  double drain_mb_per_second = 0;
  double bulk_mb_per_second = 0;
  double write_max_ms = 0, read_max_ms = 0;  // over operations that ended since the row before
  double l0_files = 0;
  double debt_mb = 0;
  double braking = 0;  // 1: RocksDB braked
};

// [<shape>-]<scenario>-<policy>-x<scale>-<repetition>: the name of its files in timeline/ and ccdf/ below the results.
std::string RunName(const RunKey& run);
Status WriteTimeline(const std::filesystem::path& file, const std::vector<TimelineRow>& rows);

// The share of a phase's writes that took longer, by latency.
struct CcdfPoint {
  double latency_ms;
  double share_longer;
};
Status WriteCcdf(const std::filesystem::path& file, const std::vector<CcdfPoint>& points);

}  // namespace weir
