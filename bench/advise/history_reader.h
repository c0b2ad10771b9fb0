// HistoryReader: finds out from the lines of a LOG what a RocksDB went through. It takes memory for the families of the
// database, not for the lines.
//
//   HistoryReader history;
//   while (const auto line = reader.Next()) history.Add(*line);
//   const DatabaseHistory happened = std::move(history).Finish();
//
// If lines at the beginning or end of a LOG are missing, no sum or time is larger than it is with them. Not
// thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/advise/database_history.h"
#include "bench/advise/measured_stalls.h"

namespace weir {

class HistoryReader {
 public:
  // Further families count as one, which has this name.
  static constexpr size_t kMostFamilies = 256;
  static constexpr std::string_view kOtherFamilies = "(other families)";

  // Adds the next line of the LOG, or of the first of several LOGs in the order of their time.
  void Add(std::string_view line);
  // Takes the options of those families of which the LOG does not tell them. Call it after all lines.
  void AddOptionsFile(const OptionsText& options);
  DatabaseHistory Finish() &&;

  uint64_t lines() const { return history_.lines; }  // lines so far that begin with a time

 private:
  struct Job {
    size_t family = 0;
    bool has_family = false;
    bool started = false;
    LogTime start{};
    uint64_t memtables = 0;
    double bytes = 0;  // sum of its tables
  };
  // The part of a family that is needed while lines come.
  struct Reading {
    size_t running = 0;  // jobs
    LogTime busy_since{};
    LogTime filled_since{};  // when the memtables that are flushed next began to fill
    // The options at the stalls, one after the other, each with the number of lines. Those that no line told are
    // missing.
    std::vector<std::pair<LsmOptions, uint64_t>> at_stalls;
    std::string first_table;  // texts of RocksDB's property cfstats
    std::string last_table;
    std::vector<uint64_t> first_files;  // numbers of files in each level
    std::vector<uint64_t> last_files;
    uint64_t tables = 0;
    double table_bytes = 0;
  };
  enum class Block : uint8_t { kNone, kDbStats, kFamilyStats };

  void AddTimed(const LoggedLine& line);
  void AddToBlock(std::string_view line);
  void EndBlock();
  void AddEvent(const LogEvent& event);
  void EndJob(const LogEvent& event, const Job& job);
  void AddOption(std::string_view text);
  void AddSetOption(std::string_view text);
  void AddOptionsAtStall(size_t index);
  void Reopened();
  void EndRunning();
  size_t FamilyIndex(std::string_view name);
  Job& JobOf(uint64_t number);
  void SetLevels(const Reading& reading, FamilyHistory* family) const;
  void AccountFor(LogTime until, bool covered);

  LineCutter cutter_;
  DatabaseHistory history_;
  StallConditions conditions_;
  MeasuredStalls measured_;
  std::vector<Reading> reading_;  // one for each family of history_
  std::map<std::string, size_t, std::less<>> index_;
  std::unordered_map<uint64_t, Job> jobs_;

  LogTime before_head_{};  // time of the last line before the last head of a LOG
  double gaps_seconds_ = 0;
  double conditions_until_covered_ = 0;  // seconds of the conditions up to the last moment that is accounted for

  Block block_ = Block::kNone;
  size_t block_family_ = 0;
  std::string block_text_;

  std::optional<size_t> options_of_;  // the family whose options the head of a LOG is telling
  std::optional<size_t> sets_of_;     // the family whose options SetOptions is about to change
  std::vector<std::pair<std::string, std::string>> sets_;
  bool told_db_options_ = false;
};

}  // namespace weir
