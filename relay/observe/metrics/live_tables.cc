#include "relay/observe/metrics/live_tables.h"

#include "monitors/smoothed.h"

namespace weir {
namespace {

constexpr double kSmoothSeconds = 5;
constexpr Duration kForgottenAfter = std::chrono::seconds(10);

}  // namespace

void LiveTable::AddRow(std::vector<std::string> cells) {
  if (rows.size() == kMostRows) {
    ++left_out;
    return;
  }
  rows.push_back(std::move(cells));
}

void LiveTable::Write(JsonWriter& json) const {
  json.Open('{');
  json.Member("name").String(name);
  json.Member("title").String(title);
  json.Member("columns").Open('[');
  for (const LiveColumn& column : columns) {
    json.Open('{').Member("title").String(column.title);
    if (column.is_figure) json.Member("figure").Bool(true);
    json.Close('}');
  }
  json.Close(']').Member("rows").Open('[');
  for (const auto& row : rows) {
    json.Open('[');
    for (const std::string& cell : row) json.String(cell);
    json.Close(']');
  }
  json.Close(']').Member("left_out").Number(left_out);
  json.Member("empty").String(empty);
  json.Close('}');
}

void LiveRates::Begin(TimePoint now) {
  before_ = now_;
  now_ = now;
  earlier_ = std::exchange(seen_, {});
  if (now_ - before_ > kForgottenAfter) earlier_.clear();
}

double LiveRates::PerSecond(const std::string& name, double count) {
  Seen& seen = seen_[name];
  seen.count = count;
  const auto known = earlier_.find(name);
  const double seconds = ToSeconds(now_ - before_);
  if (known == earlier_.end() || seconds <= 0 || count < known->second.count) return 0;
  const double rate = (count - known->second.count) / seconds;
  const double weight = known->second.has_rate ? SmoothingWeight(seconds, kSmoothSeconds) : 1;
  seen.rate = known->second.rate + (rate - known->second.rate) * weight;
  seen.has_rate = true;
  return seen.rate;
}

LiveTable& LiveTables::Add(std::string name, std::string title, std::vector<LiveColumn> columns, std::string empty) {
  return tables_.emplace_back(LiveTable{.name = std::move(name),
                                        .title = std::move(title),
                                        .columns = std::move(columns),
                                        .rows = {},
                                        .left_out = 0,
                                        .empty = std::move(empty)});
}

}  // namespace weir
