#include "relay/metrics/live_tables.h"

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
