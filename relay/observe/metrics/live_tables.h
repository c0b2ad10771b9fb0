// LiveTables: the tables that show the present state of a relay to its operator, on the page at /live and in `weir
// top`. Each RelayPlugin can add tables (RelayPlugin::AppendLive); the page and `weir top` show every table, and need
// no code for it.
//
// The cells are texts for people, as short as possible. Programs can read the figures at /metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/text/json_writer.h"

namespace weir {

struct LiveColumn {
  std::string title;
  bool is_figure = false;  // true: the column is aligned to the right
};

struct LiveTable {
  static constexpr size_t kMostRows = 16;

  // Adds a row, which must have a cell for each column. If there are already kMostRows rows, only counts the row in
  // `left_out`; so add the most important rows first.
  void AddRow(std::vector<std::string> cells);
  // Writes the table as a JSON object, in the form that relay/watch/live/FEED.md describes.
  void Write(JsonWriter& json) const;

  std::string name;   // the name for programs, which never changes: "imports"
  std::string title;  // the title for people
  std::vector<LiveColumn> columns;
  std::vector<std::vector<std::string>> rows;
  uint64_t left_out = 0;  // number of rows that are not in `rows`
  std::string empty;      // shown if there are no rows; if this is empty too, the table is not shown
};

// Computes rates from counts. The caller works in rounds: it calls Begin, then PerSecond once for each count. PerSecond
// compares the count with its value in the previous round. A rate is averaged over about five seconds, so that people
// can read it. If a round begins more than ten seconds after the previous one, all its rates are 0. Not thread-safe.
class LiveRates {
 public:
  // Begins a round at the time `now`.
  void Begin(TimePoint now);
  // Returns the rate, per second, at which the count with this name grows. Returns 0 if the previous round had no count
  // with this name, or a higher one. Call it at most once for each name in a round.
  double PerSecond(const std::string& name, double count);

 private:
  struct Seen {
    double count = 0;
    double rate = 0;
    bool has_rate = false;
  };
  using AllSeen = std::map<std::string, Seen, std::less<>>;

  TimePoint now_{};
  TimePoint before_{};
  AllSeen seen_;
  AllSeen earlier_;  // the counts of the previous round; seen_: those of this one
};

// Collects the tables for one moment. `rates`, whose Begin was called for this moment, must outlive this object.
class LiveTables {
 public:
  explicit LiveTables(LiveRates& rates) : rates_(rates) {}

  // Adds a table without rows and returns it. The reference is valid until the next Add.
  LiveTable& Add(std::string name, std::string title, std::vector<LiveColumn> columns, std::string empty = "");
  // See LiveRates::PerSecond.
  double PerSecond(const std::string& name, double count) { return rates_.PerSecond(name, count); }

  std::vector<LiveTable> Take() && { return std::move(tables_); }

 private:
  LiveRates& rates_;
  std::vector<LiveTable> tables_;
};

}  // namespace weir
