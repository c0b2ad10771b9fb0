#include "relay/watch/top/feed_state.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir {
namespace {

using simdjson::dom::element;

// The most tables that are read; a relay with many parts has about twenty.
constexpr size_t kMostTables = 64;
constexpr size_t kMostTableColumns = 16;

// Returns the string in a JSON value, or in the result of a look-up; empty if there is no string.
template <typename Json>
std::string Text(const Json& value) {
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

template <typename Json, typename Take>
void ForEach(const Json& list, Take take) {
  simdjson::dom::array items;
  if (list.get(items) != simdjson::SUCCESS) return;
  for (const element item : items) take(item);
}

template <typename Json>
float Figure(const Json& value) {
  double number = 0;
  if (value.get(number) != simdjson::SUCCESS || !std::isfinite(static_cast<float>(number))) return LiveRow::kNothing;
  return static_cast<float>(number);
}

template <typename Json>
double Time(const Json& value) {
  double seconds = 0;
  return value.get(seconds) == simdjson::SUCCESS && std::abs(seconds) < 9e9 ? seconds : 0;
}

LiveTable ReadTable(element json) {
  LiveTable table{.name = Text(json["name"]), .title = Text(json["title"]), .empty = Text(json["empty"])};
  ForEach(json["columns"], [&](element column) {
    bool is_figure = false;
    if (column["figure"].get(is_figure) != simdjson::SUCCESS) is_figure = false;
    if (table.columns.size() < kMostTableColumns) table.columns.push_back({Text(column["title"]), is_figure});
  });
  ForEach(json["rows"], [&](element row) {
    std::vector<std::string> cells;
    ForEach(row, [&](element cell) { cells.push_back(Text(cell)); });
    cells.resize(table.columns.size());
    table.AddRow(std::move(cells));
  });
  uint64_t left_out = 0;
  if (json["left_out"].get(left_out) == simdjson::SUCCESS) table.left_out += left_out;
  return table;
}

LiveTable ReadChanges(element json) {
  LiveTable table{.name = "changed",
                  .title = "Settings that were changed since the start",
                  .columns = {{"setting"}, {"now", true}, {"after a restart", true}}};
  simdjson::dom::object changed;
  if (json["changed"].get(changed) != simdjson::SUCCESS) return table;
  for (const auto [name, at_start] : changed)
    table.AddRow({std::string(name), Text(json["settings"][name]), Text(at_start)});
  return table;
}

std::vector<LiveRow> ReadHistory(const simdjson::simdjson_result<element>& json) {
  std::vector<LiveRow> rows;
  ForEach(json["at"], [&](element at) {
    if (rows.size() < LiveHistory::kRows) rows.emplace_back().at = Time(at);
  });
  for (size_t figure = 0; figure < kLiveFigures; ++figure) {
    size_t row = 0;
    ForEach(json[kLiveFigureNames[figure]], [&](element value) {
      if (row < rows.size()) rows[row++].figures[figure] = Figure(value);
    });
  }
  return rows;
}

}  // namespace

const LiveTable* FeedState::Find(std::string_view table) const {
  const auto found = std::ranges::find(tables, table, &LiveTable::name);
  return found == tables.end() ? nullptr : &*found;
}

Result<FeedState> ReadFeedState(std::string_view text) {
  simdjson::dom::parser parser;
  element json;
  if (parser.parse(text.data(), text.size()).get(json) != simdjson::SUCCESS || !json.is_object())
    return Status::Error("what came is no state of a relay");
  uint64_t format = 0;
  if (json["format"].get(format) != simdjson::SUCCESS) return Status::Error("what came is no state of a relay");
  if (format != 1)
    return Status::Error("the relay tells its state in format " + std::to_string(format) +
                         ", which this program does not know; use the `weir top` of its version");
  FeedState state;
  if (json["run"].get(state.run) != simdjson::SUCCESS) state.run = 0;
  const auto relay = json["relay"];
  state.name = Text(relay["name"]);
  state.version = Text(relay["version"]);
  state.store = Text(relay["store"]);
  state.mood = Text(json["mood"]);
  state.summary = Text(json["summary"]);
  const auto reasons = json["reasons"];
  state.write = Text(reasons["write"]);
  state.bulk = Text(reasons["bulk"]);
  state.read = Text(reasons["read"]);
  state.now.at = Time(json["at"]);
  for (size_t figure = 0; figure < kLiveFigures; ++figure)
    state.now.figures[figure] = Figure(json["now"][kLiveFigureNames[figure]]);
  ForEach(json["tables"], [&](element table) {
    if (state.tables.size() < kMostTables) state.tables.push_back(ReadTable(table));
  });
  if (LiveTable changes = ReadChanges(json); !changes.rows.empty()) state.tables.push_back(std::move(changes));
  state.history = ReadHistory(json["history"]);
  return state;
}

void Join(const FeedState& before, const FeedState& state, LiveHistory* history) {
  if (state.history.empty()) return history->Add(state.now);
  const double last = history->size() > 0 ? (*history)[history->size() - 1].at : 0;
  const bool goes_on = state.run != before.run && state.history.front().at > last;
  if (!goes_on) *history = LiveHistory();
  for (const LiveRow& row : state.history) history->Add(row);
}

}  // namespace weir
