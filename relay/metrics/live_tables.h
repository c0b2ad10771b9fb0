// LiveTables: tables that show an operator the present state of a relay, on the page at /live and in `weir top`. Each
// RelayPart can add tables (RelayPart::AppendLive). The page and `weir top` show any table, whatever it contains.
//
// Cells are texts for people, as short as possible. Programs find the figures at /metrics.
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

  // Adds a row, with a cell for each column. Rows beyond kMostRows are only counted in `left_out`, so add the most
  // important rows first.
  void AddRow(std::vector<std::string> cells);
  // Writes the table as a JSON object, in the form that relay/live/FEED.md describes.
  void Write(JsonWriter& json) const;

  std::string name;   // for programs, and never changed: "imports"
  std::string title;  // for people
  std::vector<LiveColumn> columns;
  std::vector<std::vector<std::string>> rows;
  uint64_t left_out = 0;  // number of rows that are not in `rows`
  std::string empty;      // shown if there are no rows; if this is empty too, the table is not shown
};

// Turns counts into rates, by comparing each count with its value at the operator's previous look. A rate is averaged
// over some seconds, so that people can read it. The counts of a look are forgotten if the next look comes more than
// ten seconds later. Not thread-safe.
class LiveRates {
 public:
  // Begins a look. `now` is its time.
  void Begin(TimePoint now);
  // Returns the rate, per second, at which the count of this name grows; 0 if the previous look did not ask for this
  // name, or if the count has fallen. Call it at most once for each name in a look.
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
  AllSeen earlier_;  // the counts of the previous look
};

// The tables of one look. `rates` must outlive them.
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
