// Tables for an operator who looks: on the page at /live, with JavaScript or without, and in `weir top`. Any part of
// the relay can add a table (RelayPart::AppendLive); the code that shows it need not know what it is about.
//
// Cells are texts for people, as short as possible; /metrics has figures for programs.
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
  bool is_figure = false;  // aligned to the right
};

struct LiveTable {
  static constexpr size_t kMostRows = 16;

  // Rows beyond kMostRows are only counted, so add the most important ones first.
  void AddRow(std::vector<std::string> cells);
  // Writes the table as JSON, as relay/live/FEED.md describes it.
  void Write(JsonWriter& json) const;

  std::string name;  // for programs, and never changed: "imports"
  std::string title;
  std::vector<LiveColumn> columns;
  std::vector<std::vector<std::string>> rows;
  uint64_t left_out = 0;
  std::string empty;  // shown if there are no rows; if this is empty too, the table is not shown
};

// Turns counts into rates, by their values when an operator last looked. Rates are averaged over some seconds, so that
// they can be read; values from more than ten seconds ago are forgotten. Not thread-safe.
class LiveRates {
 public:
  void Begin(TimePoint now);
  // Returns the rate of a count that only grows; 0 if it is seen for the first time. Call it once per name between two
  // Begins.
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
  AllSeen earlier_;  // names that are not asked for again are forgotten
};

class LiveTables {
 public:
  explicit LiveTables(LiveRates& rates) : rates_(rates) {}

  // The reference is valid until the next Add.
  LiveTable& Add(std::string name, std::string title, std::vector<LiveColumn> columns, std::string empty = "");
  double PerSecond(const std::string& name, double count) { return rates_.PerSecond(name, count); }

  std::vector<LiveTable> Take() && { return std::move(tables_); }

 private:
  LiveRates& rates_;
  std::vector<LiveTable> tables_;
};

}  // namespace weir
