// What an operator is shown in rows while somebody looks: on the page at /live, which is also one without JavaScript,
// and in `weir top`. Whoever knows something adds a table of it (RelayPart::AppendLive); nobody who shows it has to
// know what it is about.
//
// Cells are texts for people, as short as they go; programs that want figures have /metrics.
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
  bool is_figure = false;  // stands at the right
};

struct LiveTable {
  static constexpr size_t kMostRows = 16;

  // What is beyond kMostRows is only counted: whoever adds has put the foremost first.
  void AddRow(std::vector<std::string> cells);
  // As relay/live/FEED.md has it.
  void Write(JsonWriter& json) const;

  std::string name;  // for programs, and for ever: "imports"
  std::string title;
  std::vector<LiveColumn> columns;
  std::vector<std::vector<std::string>> rows;
  uint64_t left_out = 0;
  std::string empty;  // said where there are no rows; empty: the table is not shown then
};

// Counts become rates by what they were when somebody looked before, averaged over some seconds so that they can be
// read; what was seen more than ten seconds ago is forgotten. Not thread-safe.
class LiveRates {
 public:
  void Begin(TimePoint now);
  // Of a count that only grows; 0 where it is seen for the first time. Each name once between two Begins.
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
  AllSeen earlier_;  // those that nobody names again are forgotten
};

class LiveTables {
 public:
  explicit LiveTables(LiveRates& rates) : rates_(rates) {}

  // Stays where it is until the next Add.
  LiveTable& Add(std::string name, std::string title, std::vector<LiveColumn> columns, std::string empty = "");
  double PerSecond(const std::string& name, double count) { return rates_.PerSecond(name, count); }

  std::vector<LiveTable> Take() && { return std::move(tables_); }

 private:
  LiveRates& rates_;
  std::vector<LiveTable> tables_;
};

}  // namespace weir
