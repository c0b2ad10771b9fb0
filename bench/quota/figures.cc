#include "bench/quota/figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "bench/relay/campaign.h"

namespace weir {
namespace {

using Rows = std::vector<ResultRow>;

template <typename Get>
std::vector<std::string> InOrder(const Rows& rows, Get get) {
  std::vector<std::string> names;
  for (const ResultRow& row : rows)
    if (std::find(names.begin(), names.end(), get(row)) == names.end()) names.push_back(get(row));
  return names;
}

std::string Number(double x) {
  char text[64];
  const double size = std::abs(x);
  std::snprintf(text, sizeof text, "%.*f", size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3, x);
  return text;
}

Spread SpreadOfCell(const Rows& rows, const std::string& scenario, const std::string& subject) {
  std::vector<double> values;
  for (const ResultRow& row : rows)
    if (row.scenario == scenario && row.relay == subject) values.push_back(row.figure.value);
  return SpreadOf(std::move(values));
}

std::string Cell(const Spread& spread) {
  if (!std::isfinite(spread.median)) return "";
  if (spread.lowest == spread.highest) return Number(spread.median);
  return Number(spread.median) + " (" + Number(spread.lowest) + "–" + Number(spread.highest) + ")";
}

std::string Table(const Rows& rows, bool ratio) {
  const std::vector<std::string> subjects = InOrder(rows, [](const ResultRow& r) { return r.relay; });
  ratio = ratio && subjects.size() >= 2;
  std::string head = "| " + rows.front().figure.name + ", " + rows.front().figure.unit + " |", rule = "|---|";
  for (const std::string& subject : subjects) {
    head += " " + subject + " |";
    rule += "---|";
  }
  if (ratio) {
    head += " " + subjects[0] + " : " + subjects[1] + " |";
    rule += "---|";
  }
  std::string text = head + "\n" + rule + "\n";
  for (const std::string& scenario : InOrder(rows, [](const ResultRow& r) { return r.scenario; })) {
    text += "| " + scenario + " |";
    std::vector<double> medians;
    for (const std::string& subject : subjects) {
      const Spread spread = SpreadOfCell(rows, scenario, subject);
      medians.push_back(spread.median);
      text += " " + Cell(spread) + " |";
    }
    const double share = ratio ? medians[0] / medians[1] : 0;
    if (ratio) text += std::isfinite(share) ? " " + Number(share) + " |" : " |";
    text += "\n";
  }
  return text;
}

}  // namespace

void QuotaFigures::Add(int repetition, const std::string& scenario, const std::string& subject, const std::string& name,
                       const std::string& unit, double value) {
  static const std::string& date = *new std::string(DateOfRun());
  const auto for_csv = [](std::string text) {
    std::replace(text.begin(), text.end(), ',', ';');
    return text;
  };
  rows_.push_back({.date = date,
                   .relay = for_csv(subject),
                   .repetition = repetition,
                   .scenario = for_csv(scenario),
                   .figure = {.name = for_csv(name), .unit = unit, .value = value}});
}

std::string QuotaFigures::Tables(bool ratio) const {
  std::string text;
  for (const std::string& name : InOrder(rows_, [](const ResultRow& r) { return r.figure.name; })) {
    Rows of_figure;
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(of_figure),
                 [&name](const ResultRow& row) { return row.figure.name == name; });
    text += Table(of_figure, ratio) + "\n";
  }
  return text;
}

}  // namespace weir
