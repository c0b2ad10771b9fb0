// A line of a RocksDB LOG: its time, and what it says. Knows the forms of RocksDB's versions 6 to 11, and the times
// that TiKV and Ceph put before RocksDB's lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// A moment as the clock of the LOG has it, which is mostly the local time of its machine: the time since the beginning
// of 1970 by that clock.
using LogTime = std::chrono::microseconds;

inline double LogSeconds(LogTime time) { return std::chrono::duration<double>(time).count(); }
std::string FormatLogTime(LogTime at);  // "2026-12-01 08:25:07"

struct LoggedLine {
  LogTime at{};
  std::string_view text;  // everything after the time
};

// Cuts the times off lines. Not thread-safe.
class LineCutter {
 public:
  // Returns nullopt if the line does not begin with a time: such a line continues the one before.
  std::optional<LoggedLine> Cut(std::string_view line);

 private:
  std::string day_;     // the date of the last line
  LogTime midnight_{};  // the beginning of that day
};

enum class StallLimit : uint8_t { kMemtables, kL0Files, kPendingBytes };
inline constexpr size_t kStallLimits = 3;

// "[default] Stalling writes because we have 20 level-0 files rate 16777216"
struct StallLine {
  std::string_view family;
  StallLimit limit = StallLimit::kL0Files;
  bool stops = false;  // false: writes are only delayed
};
// Returns nullopt if the line tells of no stall.
std::optional<StallLine> ParseStallLine(std::string_view text);

// A line with EVENT_LOG_v1. A figure that the line does not have is 0.
struct LogEvent {
  enum class Kind : uint8_t { kFlushStarted, kFlushFinished, kTableCreated, kCompactionStarted, kCompactionFinished };

  Kind kind = Kind::kFlushStarted;
  LogTime at{};  // when it happened. RocksDB writes some events into the LOG later.
  uint64_t job = 0;
  std::string_view family;  // empty: only other lines of the job say it
  uint64_t memtables = 0;
  uint64_t bytes = 0;            // output of a compaction, or size of a table
  uint64_t data_bytes = 0;       // a flush's, as the program wrote them
  uint64_t files = 0;            // output of a compaction
  uint64_t output_level = 0;     // level of a compaction's output
  std::vector<uint64_t> levels;  // numbers of files after the event; empty: not told
};
// Returns nullopt if the line has no event, or one of another kind.
std::optional<LogEvent> ParseLogEvent(const LoggedLine& line);

// "[default] [JOB 6] Level-0 flush table #10: started"
struct JobLine {
  std::string_view family;
  uint64_t job = 0;
};
std::optional<JobLine> ParseJobLine(std::string_view text);

}  // namespace weir
