#include "bench/relay/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string_view>

#include "config/text/parse.h"

namespace weir {
namespace {

struct Headline {
  std::string_view scenario;
  std::string_view figure;
};

// The figures that the report shows first.
constexpr Headline kHeadlines[] = {
    {"ingest", "rate"},
    {"ingest", "OK p99"},
    {"ingest", "server CPU per event"},
    {"req", "id: EOSE p50"},
    {"req", "author+kind 20: EOSE p50"},
    {"req", "#e: EOSE p50"},
    {"req", "kind+since 500: EOSE p50"},
    {"storm", "REQ p99"},
    {"storm", "live p50"},
    {"burst", "resident above idle"},
    {"burst", "anonymous above idle"},
    {"burst", "OK p50"},
    {"burst", "REQ max"},
    {"fan-out", "delivery p50"},
    {"fan-out", "server CPU per delivery"},
    {"idle", "resident per connection"},
    {"ingest", "disk per 100k events"},
    {"paced", "written per event"},
};

std::vector<std::string> RelaysOf(const std::vector<ResultRow>& rows) {
  return InOrder(rows, [](const ResultRow& row) { return row.relay; });
}

std::vector<double> ValuesOf(const std::vector<ResultRow>& rows, const std::string& relay, std::string_view scenario,
                             std::string_view figure) {
  std::vector<double> values;
  for (const ResultRow& row : rows)
    if (row.relay == relay && row.scenario == scenario && row.figure.name == figure) values.push_back(row.figure.value);
  return values;
}

std::string Comparison(const std::vector<Spread>& spreads, const std::string& unit) {
  const double first = spreads[0].median, second = spreads[1].median;
  if (unit == "digest") {
    const bool same = std::all_of(spreads.begin(), spreads.end(),
                                  [&](const Spread& s) { return s.lowest == first && s.highest == first; });
    return same ? "same" : "differs";
  }
  const double ratio = first == second ? 1 : second / first;
  if (!std::isfinite(ratio)) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", ratio);
  return text;
}

std::string Head(std::vector<std::string> relays) {
  if (relays.size() >= 2) relays.push_back(relays[1] + " : " + relays[0]);
  return TableHead("figure", relays);
}

std::string TableRow(const std::vector<ResultRow>& rows, const std::vector<std::string>& relays,
                     const std::string& label, std::string_view scenario, const LoadFigure& figure) {
  std::string text = "| " + label + (figure.unit.empty() || figure.unit == "digest" ? "" : ", " + figure.unit) + " |";
  std::vector<Spread> spreads;
  for (const std::string& relay : relays) {
    spreads.push_back(SpreadOf(ValuesOf(rows, relay, scenario, figure.name)));
    text += " " + SpreadText(spreads.back(), figure.unit) + " |";
  }
  if (relays.size() >= 2) text += " " + Comparison(spreads, figure.unit) + " |";
  return text + "\n";
}

std::string ShapeCell(const std::vector<ResultRow>& rows, const std::vector<std::string>& relays,
                      const std::string& scenario, const LoadFigure& figure) {
  constexpr double kGoal = 0.8;
  std::string text;
  std::vector<double> medians;
  for (const std::string& relay : relays) {
    if (!medians.empty()) text += " → ";
    medians.push_back(MedianOf(rows, relay, scenario, figure.name));
    text += std::isnan(medians.back()) ? "-" : FigureText(medians.back(), figure.unit);
  }
  const bool behind = medians.size() >= 2 && medians.back() > kGoal * medians.front();
  return behind ? "**" + text + "**" : text;
}

}  // namespace

std::string ResultTables(const std::vector<ResultRow>& rows) {
  const std::vector<std::string> relays = RelaysOf(rows);
  std::string text = "Medians, with the lowest and the highest where there are several runs.\n";
  std::string headlines;
  for (const Headline& headline : kHeadlines) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const ResultRow& r) {
      return r.scenario == headline.scenario && r.figure.name == headline.figure;
    });
    if (row == rows.end()) continue;
    const std::string label = row->scenario + ": " + row->figure.name;
    headlines += TableRow(rows, relays, label, headline.scenario, row->figure);
  }
  if (!headlines.empty()) text += "\n" + Head(relays) + headlines;
  std::vector<std::pair<std::string, std::string>> shown;
  std::string scenario;
  std::vector<ResultRow> sorted = rows;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const ResultRow& a, const ResultRow& b) { return a.scenario < b.scenario; });
  for (const ResultRow& row : sorted) {
    if (row.scenario != scenario) text += "\n## " + row.scenario + "\n\n" + Head(relays);
    scenario = row.scenario;
    const std::pair<std::string, std::string> key(row.scenario, row.figure.name);
    if (std::find(shown.begin(), shown.end(), key) != shown.end()) continue;
    shown.push_back(key);
    text += TableRow(rows, relays, row.figure.name, row.scenario, row.figure);
  }
  return text;
}

std::string ShapeTables(const std::vector<ResultRow>& rows) {
  constexpr std::string_view kMark = ": EOSE p50";
  const std::vector<std::string> relays = RelaysOf(rows);
  std::string text;
  for (const std::string& scenario : InOrder(rows, [](const ResultRow& row) { return row.scenario; })) {
    std::vector<ResultRow> of_shapes;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(of_shapes),
                 [&](const ResultRow& row) { return row.scenario == scenario && row.figure.name.ends_with(kMark); });
    if (of_shapes.empty()) continue;
    text += "\n## " + scenario + ": " + Join(relays, " → ") + "\n\n";
    text += TableHead("shape", {"p50, ms", "p99, ms", "CPU of the relay, µs"});
    for (const std::string& name : InOrder(of_shapes, [](const ResultRow& row) { return row.figure.name; })) {
      const std::string shape = name.substr(0, name.size() - kMark.size());
      text += "| " + shape + " |";
      for (const LoadFigure& figure : {LoadFigure{shape + ": EOSE p50", "ms"}, LoadFigure{shape + ": EOSE p99", "ms"},
                                       LoadFigure{shape + ": server CPU per REQ", "µs"}})
        text += " " + ShapeCell(rows, relays, scenario, figure) + " |";
      text += "\n";
    }
  }
  return text;
}

double MedianOf(const std::vector<ResultRow>& rows, const std::string& relay, std::string_view scenario,
                std::string_view figure) {
  return SpreadOf(ValuesOf(rows, relay, scenario, figure)).median;
}

}  // namespace weir
