// Writes and reads the figures of runs: a row for each phase, in a CSV file to which all runs add, and a time line for
// each run.
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
  std::string policy;  // name of the policy, with the value of its knob if one was set: "static@5.5"
  int repetition = 1;
  std::string label;  // the change that was made for an experiment; may be empty

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
  double refused = 0;  // number of refused interactive operations
  double read_p50_ms = 0, read_p99_ms = 0, read_p999_ms = 0;
  double scan_p50_ms = 0, scan_p99_ms = 0;
  double long_scans_per_second = 0;
  double bulk_mb_per_second = 0;
  // All bulk bytes of the run, divided by the time of its bulk phases plus the time until flushes and compactions had
  // caught up (settle_seconds); NaN if they did not catch up. Every row of a run has the same value.
  double adjusted_bulk_mb_per_second = 0;
  double settle_seconds = 0;
  double jain_index = 0;      // index of the parties' bulk bytes
  double braked_seconds = 0;  // time during which RocksDB slowed or stopped writes
  double escapes = 0;         // number of times that RocksDB began to slow or stop writes
  double highest_level = 0, mean_level = 0;
  double highest_l0_files = 0;
  double debt_mb_at_end = 0;
  double cpu_seconds = 0;
  double cpu_us_per_value = 0;  // for each value written or read
  double peak_memory_mb = 0;    // peak of the resident memory
  double load_average = 0;
  double bulk_refused = 0;  // number of refused bulk writes; each was tried again
  // How steady the limit of bulk work was in the phase (bench/measure/settled_limit.h).
  double limit_spread_percent = 0, limit_within_percent = 0, limit_settled_seconds = 0;
  // CPU time of the threads that measure the engine and control the load; without weir these only measure.
  double control_cpu_ms_per_second = 0;
  double noise_p999_ms = 0;  // p99.9 of how late threads wake up that only sleep: the machine's share of the latencies
};

// Returns the figures of two databases together: sums of the work and of the brakes, and the worse of all others.
PhaseRow Together(const PhaseRow& a, const PhaseRow& b);

// The name of a figure, as in all files, and its member of PhaseRow.
struct NumberColumn {
  const char* name;
  double PhaseRow::*number;
};
const std::vector<NumberColumn>& NumberColumns();

// Appends the rows to the file, as CSV. A new file begins with a header.
Status AppendRows(const std::filesystem::path& file, const std::vector<PhaseRow>& rows);
Result<std::vector<PhaseRow>> ReadRows(const std::filesystem::path& file);

struct TimelineRow {
  double second = 0;
  std::string phase;
  double level = 0;  // highest level of the signals that act on writes
  std::string signal;
  double l0_level = 0, memtables_level = 0, debt_level = 0, memory_level = 0;
  double limit_mb_per_second = 0;  // limit of bulk work; infinite: no limit
  std::string reason;
  double drain_mb_per_second = 0;
  double bulk_mb_per_second = 0;
  double write_max_ms = 0, read_max_ms = 0;  // longest operation that ended since the row before
  double l0_files = 0;
  double debt_mb = 0;
  double braking = 0;  // 1: RocksDB braked
};

// Returns [<shape>-]<scenario>-<policy>[-<label>]-x<scale>-<repetition>, the name of the run's files in timeline/ and
// ccdf/ of the results.
std::string RunName(const RunKey& run);
Status WriteTimeline(const std::filesystem::path& file, const std::vector<TimelineRow>& rows);

// A point of the complementary distribution of latency: the share of a phase's writes that took longer than
// `latency_ms`.
struct CcdfPoint {
  double latency_ms;
  double share_longer;
};
Status WriteCcdf(const std::filesystem::path& file, const std::vector<CcdfPoint>& points);

}  // namespace weir
