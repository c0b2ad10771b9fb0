// SampleLog: writes a LOG as RocksDB of a certain version does. The forms are those that these versions were seen to
// write; the figures are made up.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace weir {

class SampleLog {
 public:
  // The clock of the LOG is an hour ahead of UTC.
  static constexpr int64_t kBeginMicros = 1'775'027'045'000'000;  // 2026-04-01 07:04:05 UTC

  explicit SampleLog(int version) : version_(version) {}

  // Sets the time of the next lines, in seconds since the LOG began.
  SampleLog& At(double seconds) {
    now_ = seconds;
    return *this;
  }

  SampleLog& Head(const std::vector<std::string>& db_options, const std::vector<std::string>& family_options,
                  const std::string& family = "default") {
    Line("RocksDB version: " + std::to_string(version_) + ".8.3");
    Line("DB SUMMARY");
    for (const std::string& option : db_options) Line("            Options." + option);
    Line("[/version_set.cc:4627] Recovering from manifest file: /db/MANIFEST-000001");
    return Family(family, family_options);
  }
  SampleLog& Family(const std::string& name, const std::vector<std::string>& options) {
    Line("[/column_family.cc:598] --------------- Options for column family [" + name + "]:");
    for (const std::string& option : options) Line("        Options." + option);
    return *this;
  }

  // `what` such as "Stalling writes because we have 20 level-0 files rate 16777216".
  SampleLog& Stall(const std::string& what, const std::string& family = "default") {
    return Line("[WARN] [/column_family.cc:930] [" + family + "] " + what);
  }

  SampleLog& FlushStarted(int job, const std::string& family = "default") {
    Line("[/flush_job.cc:339] [" + family + "] [JOB " + std::to_string(job) +
         "] Flushing memtable with next log file: 9");
    return Event("\"job\": " + std::to_string(job) +
                 ", \"event\": \"flush_started\", \"num_memtables\": 1, \"num_entries\": 7000, \"num_deletes\": 0, "
                 "\"total_data_size\": 9000000, \"memory_usage\": 9538016, \"flush_reason\": \"Write Buffer Full\"");
  }
  SampleLog& FlushFinished(int job, uint64_t bytes, const std::string& levels, const std::string& family = "default") {
    Event("\"cf_name\": \"" + family + "\", \"job\": " + std::to_string(job) +
          ", \"event\": \"table_file_creation\", \"file_number\": 12, \"file_size\": " + std::to_string(bytes) +
          ", \"file_checksum\": \"\", \"table_properties\": {\"data_size\": 1, \"num_entries\": 7000}");
    return Buffered("\"job\": " + std::to_string(job) +
                    ", \"event\": \"flush_finished\", \"output_compression\": \"NoCompression\", \"lsm_state\": [" +
                    levels + "], \"immutable_memtables\": 0");
  }
  SampleLog& CompactionStarted(int job, const std::string& family = "default") {
    Line("[/compaction_job.cc:1881] [" + family + "] [JOB " + std::to_string(job) +
         "] Compacting 4@0 + 1@1 files to L1, score 1.00");
    return Event("\"job\": " + std::to_string(job) +
                 ", \"event\": \"compaction_started\", \"compaction_reason\": \"LevelL0FilesNum\", \"files_L0\": [159, "
                 "150, 149, 146], \"files_L1\": [141], \"score\": 1, \"input_data_size\": 44710877");
  }
  SampleLog& CompactionFinished(int job, uint64_t bytes, const std::string& levels) {
    return Buffered("\"job\": " + std::to_string(job) +
                    ", \"event\": \"compaction_finished\", \"compaction_time_micros\": 300003, "
                    "\"compaction_time_cpu_micros\": 297596, \"output_level\": 1, \"num_output_files\": 2, "
                    "\"total_output_size\": " +
                    std::to_string(bytes) + ", \"num_input_records\": 516430, \"lsm_state\": [" + levels + "]");
  }

  // The statistics of a database that was opened `uptime` seconds ago.
  SampleLog& Statistics(double uptime, double stalled, double written_gb, int l0_delays = 0,
                        const std::string& family = "default") {
    Line("[/db_impl/db_impl.cc:1084] ------- DUMPING STATS -------");
    Line("[/db_impl/db_impl.cc:1086] ");
    char text[1024];
    const int minutes = static_cast<int>(stalled / 60);
    std::snprintf(text, sizeof text,
                  "** DB Stats **\nUptime(secs): %.1f total, 600.0 interval\n"
                  "Cumulative writes: 10M writes, 10M keys, 10M commit groups, 1.0 writes per commit group, ingest: "
                  "%.2f GB, 108.00 MB/s\n"
                  "Cumulative WAL: 10M writes, 0 syncs, 10000000.00 writes per sync, written: 76.59 GB, 108.00 MB/s\n"
                  "Cumulative stall: %02d:%02d:%.3f H:M:S, 81.3 percent\n"
                  "Interval writes: 1254K writes, 1254K keys, 1254K commit groups, 1.0 writes per commit group, "
                  "ingest: 9840.88 MB, 79.86 MB/s\n"
                  "Interval stall: 00:01:45.095 H:M:S, 85.3 percent\n",
                  uptime, written_gb, minutes / 60, minutes % 60, stalled - 60 * minutes);
    text_ += text;
    if (version_ >= 8) text_ += "Write Stall (count): write-buffer-manager-limit-stops: 3, \n";
    text_ += "** Compaction Stats [" + family + "] **\n";
    text_ +=
        "Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s) "
        "Wr(MB/s) "
        "Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop\n"
        "--------------------------------------------------------------\n"
        "  L0      6/2   12.50 MB   1.5      0.0     0.0      0.0       1.3      1.3       0.0   1.0      0.0     45.9 "
        "    27.97             20.92       206    0.136       0      0\n"
        "  L1     11/0   38.75 MB   0.9      5.9     1.2      4.7       5.8      1.1       0.0   4.8     88.7     86.9 "
        "    67.60             53.10        49    1.380    105M  1711K\n\n";
    const std::string count = std::to_string(l0_delays);
    if (version_ < 8) {
      text_ += "Stalls(count): " + count +
               " level0_slowdown, 9 level0_slowdown_with_compaction, 0 level0_numfiles, 0 "
               "level0_numfiles_with_compaction, 0 stop for pending_compaction_bytes, 0 slowdown for "
               "pending_compaction_bytes, 0 memtable_compaction, 0 memtable_slowdown, interval 0 total count\n";
    } else {
      text_ +=
          "Write Stall (count): cf-l0-file-count-limit-delays-with-ongoing-compaction: 0, "
          "cf-l0-file-count-limit-stops-with-ongoing-compaction: 0, l0-file-count-limit-delays: " +
          count +
          ", l0-file-count-limit-stops: 0, memtable-limit-delays: 0, memtable-limit-stops: 0, "
          "pending-compaction-bytes-delays: 0, pending-compaction-bytes-stops: 0, total-delays: 0, total-stops: "
          "0\n";
    }
    text_ += "\n** File Read Latency Histogram By Level [" + family + "] **\n\n";
    return *this;
  }

  // Adds any line.
  SampleLog& Line(const std::string& text) {
    text_ += Time(now_) + (version_ < 7 ? " 7f0844dff640 " : " 30540 ") + text + "\n";
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  static int64_t Micros(double seconds) { return kBeginMicros + static_cast<int64_t>(1e6 * seconds + 0.5); }

  static std::string Time(double seconds) {
    const int64_t micros = Micros(seconds) - 1'775'001'600'000'000 + 3'600'000'000;  // since the midnight before
    const int64_t of_day = micros / 1'000'000;
    char text[64];
    std::snprintf(text, sizeof text, "2026/04/%02d-%02d:%02d:%02d.%06d", static_cast<int>(1 + of_day / 86400),
                  static_cast<int>(of_day / 3600 % 24), static_cast<int>(of_day / 60 % 60),
                  static_cast<int>(of_day % 60), static_cast<int>(micros % 1'000'000));
    return text;
  }

  SampleLog& Event(const std::string& fields) {
    return Line("EVENT_LOG_v1 {\"time_micros\": " + std::to_string(Micros(now_)) + ", " + fields + "}");
  }
  // RocksDB writes some events later: here 5 ms.
  SampleLog& Buffered(const std::string& fields) {
    text_ += Time(now_ + 0.005) + (version_ < 7 ? " 7f0844dff640 " : " 30540 ") + "(Original Log Time " + Time(now_) +
             ") EVENT_LOG_v1 {\"time_micros\": " + std::to_string(Micros(now_)) + ", " + fields + "}\n";
    return *this;
  }

  const int version_;
  double now_ = 0;
  std::string text_;
};

}  // namespace weir
