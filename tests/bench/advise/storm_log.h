// The LOG of a short storm, with each kind of stall, as RocksDB of any version writes it.
#pragma once

#include "bench/advise/history_reader.h"
#include "tests/bench/advise/sample_log.h"

namespace weir {

inline const char* const kL0Delay = "Stalling writes because we have 6 level-0 files rate 8388608";
inline const char* const kL0Stop = "Stopping writes because we have 10 level-0 files";

inline SampleLog StormLog(int version) {
  SampleLog log(version);
  log.At(0).Head({"max_background_jobs: 3", "delayed_write_rate : 8388608"},
                 {"write_buffer_size: 8388608", "max_write_buffer_number: 3", "level0_slowdown_writes_trigger: 6",
                  "level0_stop_writes_trigger: 10", "compaction_style: kCompactionStyleLevel",
                  "level_compaction_dynamic_level_bytes: 0"});
  log.At(10).FlushStarted(2).At(12).FlushFinished(2, 8'000'000, "5, 1");
  log.At(15).CompactionStarted(4);
  // Each condition begins with a line that comes when a flush has ended, and ends with a job after which none comes.
  log.At(20).FlushStarted(3).At(22.001).Stall(kL0Delay).At(22).FlushFinished(3, 8'000'000, "6, 1");
  log.At(40).CompactionFinished(4, 90'000'000, "2, 2");
  log.At(49).FlushStarted(5);
  log.At(50).Stall(
      "Stopping writes because we have 3 immutable memtables (waiting for flush), max_write_buffer_number is set to 3");
  log.At(53).FlushFinished(5, 8'000'000, "3, 2");
  log.At(55).CompactionStarted(6);
  const std::string debt = "Stalling writes because of estimated pending compaction bytes 500000000";
  log.At(60).Stall(version < 11 ? debt + " rate 8388608"
                                : debt +
                                      " (soft limit: 500000000, hard limit: 900000000) rate 8388608. Level scores: "
                                      "[L0:1.0, L1:2.0]");
  log.At(64).CompactionFinished(6, 10'000'000, "0, 3");
  log.At(100).Statistics(100, 12.5, 0.5, 1);
  log.At(120).Stall(kL0Stop).At(124).FlushStarted(7);
  log.At(125).FlushFinished(7, 8'000'000, "1, 3");
  log.At(130).Line("[/db_impl/db_impl.cc:490] something else");
  return log;
}

inline DatabaseHistory HistoryOf(std::string_view text) {
  HistoryReader reader;
  // A last line without an end is left out, as by LogReader.
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    reader.Add(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return std::move(reader).Finish();
}

inline const StallTotal& TotalOf(const FamilyHistory& family, StallLimit limit, bool stops) {
  return family.stalls[stops ? 1 : 0][static_cast<size_t>(limit)];
}

}  // namespace weir
