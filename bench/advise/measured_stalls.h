// MeasuredStalls: how long writes stalled by RocksDB's own measurement, from the statistics that it writes into its LOG
// now and then. They are sums since the database was opened; so the time before the first ones is covered only if the
// database was opened within the LOG.
//
// Not thread-safe.
#pragma once

#include "bench/advise/log_line.h"
#include "monitors/rocksdb_text/stats_text.h"

namespace weir {

class MeasuredStalls {
 public:
  // Sets the moment at which the LOG begins.
  void SetBegin(LogTime at) { begin_ = at; }
  // Tells that the database was opened again since the last statistics.
  void Reopened() { reopened_ = true; }
  // Adds the statistics that were written at `at`. Returns true if the time before it is covered by measurement: since
  // the last statistics, or since the database was opened.
  bool Add(LogTime at, const DbStatsText& stats);

  double seconds() const { return seconds_; }          // writes stalled for so long, in the covered time
  double covered_seconds() const { return covered_; }  // time that the statistics cover
  double user_bytes() const { return user_bytes_; }    // bytes that the program wrote in that time
  uint64_t count() const { return count_; }            // how many statistics there were

 private:
  LogTime begin_{};
  DbStatsText last_;
  bool reopened_ = false;
  double seconds_ = 0;
  double covered_ = 0;
  double user_bytes_ = 0;
  uint64_t count_ = 0;
};

}  // namespace weir
