#include "bench/storm/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "bench/storm/load.h"
#include "bench/storm/scenario.h"
#include "config/parse.h"

namespace weir {
namespace {

struct Figure {
  const char* name;
  double PhaseRow::*value;
  int digits;
  bool with_range = false;
  const char* only_in = "";  // the scenario that is about it
};

// What the tables show; the CSV and the JSON have everything.
constexpr Figure kFigures[] = {
    {"write p50 ms", &PhaseRow::write_p50_ms, 2},
    {"p99", &PhaseRow::write_p99_ms, 1},
    {"p99.9", &PhaseRow::write_p999_ms, 1, true},
    {"max", &PhaseRow::write_max_ms, 0},
    {"longest gap", &PhaseRow::write_longest_gap_ms, 0},
    {"refused", &PhaseRow::refused, 0},
    {"read p50 ms", &PhaseRow::read_p50_ms, 2},
    {"p99", &PhaseRow::read_p99_ms, 1},
    {"p99.9", &PhaseRow::read_p999_ms, 1},
    {"scan p99", &PhaseRow::scan_p99_ms, 1},
    {"long scans/s", &PhaseRow::long_scans_per_second, 1, false, "scans"},
    {"bulk MB/s", &PhaseRow::bulk_mb_per_second, 2},
    {"debt-adjusted", &PhaseRow::adjusted_bulk_mb_per_second, 2, true},
    {"Jain index", &PhaseRow::jain_index, 3, false, "parties"},
    {"braked s", &PhaseRow::braked_seconds, 1},
    {"highest level", &PhaseRow::highest_level, 2},
    {"L0 files", &PhaseRow::highest_l0_files, 0},
    {"debt MB", &PhaseRow::debt_mb_at_end, 0},
    {"CPU µs/value", &PhaseRow::cpu_us_per_value, 0},
    {"memory MB", &PhaseRow::peak_memory_mb, 0},
    {"load avg", &PhaseRow::load_average, 1},
};

bool Shown(const Figure& figure, const std::string& scenario) {
  return *figure.only_in == '\0' || scenario == figure.only_in;
}

std::string Fixed(double x, int digits) {
  if (!std::isfinite(x)) return "";
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

bool Judged(const PhaseRow& row) {
  const StormScenario* scenario = FindStormScenario(row.run.scenario);
  return scenario != nullptr && scenario->judged_phase == row.phase;
}

bool SameCell(const RunKey& a, const RunKey& b) {
  return a.scale == b.scale && a.scenario == b.scenario && a.policy == b.policy && a.label == b.label;
}

void TakeFigure(const std::vector<PhaseRow>& rows, double PhaseRow::*figure, Summary* summary) {
  std::vector<double> values;
  for (const PhaseRow& row : rows)
    if (std::isfinite(row.*figure)) values.push_back(row.*figure);
  const double none = std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  summary->lowest.*figure = n > 0 ? values.front() : none;
  summary->highest.*figure = n > 0 ? values.back() : none;
  summary->median.*figure = n > 0 ? (values[(n - 1) / 2] + values[n / 2]) / 2 : none;
}

Summary SummaryOf(const std::vector<PhaseRow>& rows) {
  Summary summary{.run = rows.front().run};
  std::vector<PhaseRow> good;
  for (const PhaseRow& row : rows) {
    if (row.outcome == "ok") {
      good.push_back(row);
    } else {
      summary.failures.push_back(row.outcome);
    }
  }
  summary.repetitions = static_cast<int>(good.size());
  for (const NumberColumn& column : NumberColumns()) TakeFigure(good, column.number, &summary);
  return summary;
}

const Summary* Find(const std::vector<Summary>& summaries, double scale, const std::string& scenario,
                    const std::string& policy) {
  for (const Summary& s : summaries)
    if (s.run.scale == scale && s.run.scenario == scenario && s.run.policy == policy && s.run.label.empty() &&
        s.repetitions > 0)
      return &s;
  return nullptr;
}

std::string MedianAndRange(const Summary& s, const Figure& figure) {
  std::string text = Fixed(s.median.*figure.value, figure.digits);
  if (text.empty() || !figure.with_range || s.repetitions < 2) return text;
  return text + " (" + Fixed(s.lowest.*figure.value, figure.digits) + "–" +
         Fixed(s.highest.*figure.value, figure.digits) + ")";
}

// A policy that answers nobody, or aborts, has no latency to be proud of.
bool AnsweredAll(const Summary& s) {
  constexpr double kShareThatCame = 0.9;  // of a Poisson process over seconds
  return s.failures.empty() && s.highest.refused == 0 &&
         s.lowest.writes >= kShareThatCame * LoadOptions{}.writes_per_second * s.median.seconds;
}

// Interactive p99.9 against another policy's.
Goal Latency(const std::vector<Summary>& all, double scale, const std::string& scenario, const std::string& other,
             double most_ms, double times_better) {
  Goal goal{.what = scenario + (scale == 1 ? "" : " ×" + Fixed(scale, 0)) + ": interactive write p99.9",
            .wanted = "≤ " + Fixed(most_ms, 0) + " ms and ≤ 1/" + Fixed(times_better, 0) + " of " + other};
  const Summary* weir = Find(all, scale, scenario, "weir");
  const Summary* beside = Find(all, scale, scenario, other);
  if (weir == nullptr || beside == nullptr) return goal;
  const double ms = weir->median.write_p999_ms;
  const double ratio = beside->median.write_p999_ms / ms;
  goal.reached = Fixed(ms, 1) + " ms, 1/" + Fixed(ratio, 0) + " (" + Fixed(beside->median.write_p999_ms, 0) + " ms)";
  goal.met = ms <= most_ms && ratio >= times_better && AnsweredAll(*weir);
  return goal;
}

Goal Bulk(const std::vector<Summary>& all, double scale, const std::string& other, const std::string& name,
          double least_percent) {
  Goal goal{.what = std::string("burst") + (scale == 1 ? "" : " ×" + Fixed(scale, 0)) +
                    ": debt-adjusted bulk against " + name,
            .wanted = std::string("≥ ") + (least_percent > 0 ? "+" : "−") + Fixed(std::abs(least_percent), 0) + " %"};
  const Summary* weir = Find(all, scale, "burst", "weir");
  const Summary* beside = Find(all, scale, "burst", other);
  if (weir == nullptr || beside == nullptr) return goal;
  const double ours = weir->median.adjusted_bulk_mb_per_second;
  const double theirs = beside->median.adjusted_bulk_mb_per_second;
  const double percent = 100 * (ours / theirs - 1);
  goal.reached = (percent >= 0 ? "+" : "−") + Fixed(std::abs(percent), 1) + " % (" + Fixed(ours, 2) + " against " +
                 Fixed(theirs, 2) + " MB/s)";
  goal.met = percent >= least_percent;
  return goal;
}

// Over all phases of all runs of weir, the worst of them.
Goal Worst(const std::vector<PhaseRow>& rows, const std::string& what, const std::string& wanted,
           double PhaseRow::*figure, double most, int digits) {
  Goal goal{.what = what, .wanted = wanted};
  double worst = -1;
  for (const PhaseRow& row : rows) {
    if (row.run.policy != "weir" || !row.run.label.empty() || row.outcome != "ok") continue;
    const double divisor = figure == &PhaseRow::peak_memory_mb ? row.run.scale : 1;
    worst = std::max(worst, row.*figure / divisor);
  }
  if (worst < 0) return goal;
  goal.reached = Fixed(worst, digits);
  goal.met = worst <= most;
  return goal;
}

}  // namespace

std::vector<Summary> Summarise(const std::vector<PhaseRow>& rows) {
  std::vector<std::vector<PhaseRow>> cells;
  for (const PhaseRow& row : rows) {
    if (!Judged(row)) continue;
    auto cell = std::find_if(cells.begin(), cells.end(),
                             [&](const std::vector<PhaseRow>& c) { return SameCell(c.front().run, row.run); });
    if (cell == cells.end()) cell = cells.insert(cells.end(), std::vector<PhaseRow>{});
    cell->push_back(row);
  }
  std::vector<Summary> summaries;
  for (const std::vector<PhaseRow>& cell : cells) summaries.push_back(SummaryOf(cell));
  std::stable_sort(summaries.begin(), summaries.end(), [](const Summary& a, const Summary& b) {
    return std::pair(a.run.scale, a.run.scenario) < std::pair(b.run.scale, b.run.scenario);
  });
  return summaries;
}

std::string SummaryTables(const std::vector<Summary>& summaries) {
  std::string text;
  const Summary* before = nullptr;
  for (const Summary& s : summaries) {
    const std::string& scenario = s.run.scenario;
    if (before == nullptr || before->run.scenario != scenario || before->run.scale != s.run.scale) {
      text += "\n" + scenario + ", scale " + FormatNumber(s.run.scale) + "\n\n| policy | runs |";
      std::string rule = "|---|---|";
      for (const Figure& figure : kFigures) {
        if (!Shown(figure, scenario)) continue;
        text += std::string(" ") + figure.name + " |";
        rule += "---|";
      }
      text += "\n" + rule + "\n";
    }
    before = &s;
    text += "| " + s.run.policy + (s.run.label.empty() ? "" : " (" + s.run.label + ")") + " | " +
            std::to_string(s.repetitions);
    if (!s.failures.empty()) text += " + " + std::to_string(s.failures.size()) + " " + s.failures.front();
    text += " |";
    for (const Figure& figure : kFigures)
      if (Shown(figure, scenario)) text += " " + MedianAndRange(s, figure) + " |";
    text += "\n";
  }
  return text;
}

std::string SummaryJson(const std::vector<Summary>& summaries) {
  const auto number = [](double x) { return std::isfinite(x) ? Fixed(x, 3) : std::string("null"); };
  std::string text = "[";
  for (const Summary& s : summaries) {
    text += text.size() > 1 ? ",\n " : "\n ";
    text += "{\"scale\":" + FormatNumber(s.run.scale) + ",\"scenario\":\"" + s.run.scenario + "\",\"policy\":\"" +
            s.run.policy + "\",\"label\":\"" + s.run.label + "\",\"runs\":" + std::to_string(s.repetitions);
    for (const auto& [name, figure] : NumberColumns())
      text += std::string(",\"") + name + "\":[" + number(s.lowest.*figure) + "," + number(s.median.*figure) + "," +
              number(s.highest.*figure) + "]";
    text += "}";
  }
  return text + "\n]\n";
}

std::vector<Goal> Goals(const std::vector<PhaseRow>& rows, const std::string& oracle, double memory_target_mb) {
  const std::vector<Summary> all = Summarise(rows);
  return {
      Latency(all, 1, "burst", "alone", 5, 200),
      Latency(all, 1, "cut", "low_pri", 5, 10),
      Bulk(all, 1, "low_pri", "low_pri", 8),
      Bulk(all, 1, "alone", "RocksDB alone", -8),
      Bulk(all, 1, oracle, "the oracle", -5),
      Latency(all, 4, "burst", "alone", 5, 200),
      Latency(all, 4, "cut", "low_pri", 5, 10),
      Bulk(all, 4, "low_pri", "low_pri", 8),
      Bulk(all, 4, "alone", "RocksDB alone", -8),
      Worst(rows, "engine slowed or stopped writes, s, worst phase of all runs", "0", &PhaseRow::braked_seconds, 0, 1),
      Worst(rows, "times that it began to", "0", &PhaseRow::escapes, 0, 0),
      Worst(rows, "interactive operations refused, worst phase of all runs", "0", &PhaseRow::refused, 0, 0),
      Worst(rows, "memory (by scale), MB, worst of all runs", "≤ " + Fixed(memory_target_mb, 0),
            &PhaseRow::peak_memory_mb, memory_target_mb, 0)};
}

std::vector<Goal> QuickGoals(const std::vector<PhaseRow>& rows) {
  const std::vector<Summary> all = Summarise(rows);
  Goal latency{.what = "interactive write p99.9", .wanted = "≤ 1/20 of RocksDB alone, all answered"};
  const Summary* weir = Find(all, 1, "quick", "weir");
  const Summary* alone = Find(all, 1, "quick", "alone");
  if (weir != nullptr && alone != nullptr) {
    const double ratio = alone->median.write_p999_ms / weir->median.write_p999_ms;
    latency.reached = Fixed(weir->median.write_p999_ms, 1) + " ms against " + Fixed(alone->median.write_p999_ms, 1) +
                      " ms: 1/" + Fixed(ratio, 0) + ", " + Fixed(weir->lowest.writes, 0) + " answered, " +
                      Fixed(weir->highest.refused, 0) + " refused";
    latency.met = ratio >= 20 && AnsweredAll(*weir);
  }
  return {latency, Worst(rows, "engine slowed or stopped writes under weir, s", "0", &PhaseRow::braked_seconds, 0, 1),
          Worst(rows, "times that it began to", "0", &PhaseRow::escapes, 0, 0)};
}

std::string GoalTable(const std::vector<Goal>& goals) {
  std::string text = "| | to reach | reached | |\n|---|---|---|---|\n";
  for (const Goal& goal : goals) {
    text += "| " + goal.what + " | " + goal.wanted + " | " + (goal.reached.empty() ? "not run" : goal.reached) + " | " +
            (goal.reached.empty() ? ""
             : goal.met           ? "yes"
                                  : "**no**") +
            " |\n";
  }
  return text;
}

}  // namespace weir
