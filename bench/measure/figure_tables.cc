#include "bench/measure/figure_tables.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir {
namespace {

using Rows = std::vector<ResultRow>;

Spread SpreadOfCell(const Rows& rows, const std::string& scenario, const std::string& subject) {
  std::vector<double> values;
  for (const ResultRow& row : rows)
    if (row.scenario == scenario && row.relay == subject) values.push_back(row.figure.value);
  return SpreadOf(std::move(values));
}

std::string Table(const Rows& rows, bool ratio) {
  const std::vector<std::string> subjects = InOrder(rows, [](const ResultRow& r) { return r.relay; });
  ratio = ratio && subjects.size() >= 2;
  const LoadFigure& figure = rows.front().figure;
  std::vector<std::string> columns = subjects;
  if (ratio) columns.push_back(subjects[0] + " : " + subjects[1]);
  std::string text = TableHead(figure.name + ", " + figure.unit, columns);
  for (const std::string& scenario : InOrder(rows, [](const ResultRow& r) { return r.scenario; })) {
    text += "| " + scenario + " |";
    std::vector<double> medians;
    for (const std::string& subject : subjects) {
      const Spread spread = SpreadOfCell(rows, scenario, subject);
      medians.push_back(spread.median);
      text += " " + SpreadText(spread, figure.unit) + " |";
    }
    if (ratio) text += " " + FigureText(medians[0] / medians[1], "") + " |";
    text += "\n";
  }
  return text;
}

}  // namespace

void FigureTables::Add(int repetition, const std::string& scenario, const std::string& subject,
                       const LoadFigures& figures) {
  const Status added = results_.Add(subject, repetition, scenario, figures);
  if (status_.ok()) status_ = added;
}

std::string FigureTables::Tables(bool ratio) const {
  const Rows rows(results_.rows().begin() + static_cast<std::ptrdiff_t>(first_), results_.rows().end());
  std::string text;
  for (const std::string& name : InOrder(rows, [](const ResultRow& r) { return r.figure.name; })) {
    Rows of_figure;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(of_figure),
                 [&name](const ResultRow& row) { return row.figure.name == name; });
    text += Table(of_figure, ratio) + "\n";
  }
  return text;
}

}  // namespace weir
