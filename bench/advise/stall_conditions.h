// StallConditions: how long RocksDB's conditions for delaying or stopping writes held, from the lines of its LOG.
//
// RocksDB looks at the conditions of a family when a memtable is full and when a flush or compaction of the family has
// ended, and logs a line if one holds. So a condition holds from its first line on, until a flush or compaction of the
// family ends without such a line. One family's condition delays or stops the writes to all families.
//
// While a condition holds, writes may stall; they need not, if there are none. So these times are the longest possible.
//
// Not thread-safe.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "bench/advise/log_line.h"
#include "bench/advise/timeline.h"

namespace weir {

struct StallTotal {
  uint64_t lines = 0;
  double seconds = 0;
};
// The totals of one family: [0] for writes that were delayed, [1] for stopped ones.
using StallTotals = std::array<std::array<StallTotal, kStallLimits>, 2>;

// A time in which conditions held nearly all the time.
struct StallEpisode {
  LogTime begin{};
  LogTime end{};
  double seconds = 0;  // time within it in which a condition held
  size_t family = 0;   // family and limit of the first condition
  StallLimit limit = StallLimit::kL0Files;
  bool stopped = false;  // true if writes were stopped at least once
};

class StallConditions {
 public:
  static constexpr size_t kMostEpisodes = 20;

  // Sets the moment at which the LOG begins. Call it before the others.
  void SetBegin(LogTime at) { timeline_.SetBegin(at); }
  // Adds a line about a stall of a family, which is given by its index.
  void Stall(size_t family, LogTime at, StallLimit limit, bool stops);
  // Ends the family's condition, unless a line was as late as `at` or later: a flush or compaction of it has ended.
  void JobEnded(size_t family, LogTime at);
  // Ends all conditions: the database was closed, or the LOG ends. A family without any flush or compaction in the LOG
  // has conditions that were never seen to end; they end with their last lines.
  void End(LogTime at);

  double delayed_seconds() const { return seconds_[0]; }  // time in which a condition for delaying held, and no other
  double stopped_seconds() const { return seconds_[1]; }
  // Returns the sum of both, with the time until `at` for conditions that hold now.
  double SecondsUntil(LogTime at) const;
  StallTotals TotalsOf(size_t family) const;
  // Returns the longest episodes, in the order of time. Call it after End.
  std::vector<StallEpisode> Episodes() const;
  // Returns delayed_seconds and stopped_seconds over time.
  const Timeline& timeline() const { return timeline_; }

 private:
  struct Family {
    StallTotals totals{};
    bool holds = false;
    bool stops = false;
    StallLimit limit = StallLimit::kL0Files;
    LogTime counted{};  // the condition's time is counted until here
    LogTime last_line{};
    bool saw_job = false;
  };

  Family& At(size_t family);
  void Count(Family* family, LogTime at);
  void EndOne(Family* family, LogTime at);
  void Advance(LogTime at);
  void KeepEpisode();

  std::vector<Family> families_;
  size_t delaying_ = 0;  // families with such a condition
  size_t stopping_ = 0;
  LogTime advanced_{};  // seconds_ counts until here
  std::array<double, 2> seconds_{};
  Timeline timeline_;
  StallEpisode episode_;
  bool has_episode_ = false;
  std::vector<StallEpisode> episodes_;
};

}  // namespace weir
