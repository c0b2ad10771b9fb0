#include "bench/simulator/tables.h"

#include <cmath>
#include <cstdio>
#include <vector>

#include "bench/simulator/law.h"
#include "bench/simulator/simulation.h"
#include "config/text/parse.h"

namespace weir {
namespace {

std::string Cell(const char* format, double value) {
  if (std::isnan(value)) return "–";
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

struct Knob {
  const char* name;
  double ControlSettings::*setting = nullptr;
  double PidGains::*gain = nullptr;
  std::vector<double> factors;

  double& Of(ControlSettings& s) const { return gain != nullptr ? s.gains.*gain : s.*setting; }
};

const std::vector<Knob>& AllKnobs() {
  static const std::vector<Knob> kKnobs = {
      {.name = "KP", .gain = &PidGains::kp, .factors = {0.25, 1, 4}},
      {.name = "KI", .gain = &PidGains::ki, .factors = {0, 1, 10}},
      {.name = "KD", .gain = &PidGains::kd, .factors = {0, 1, 10}},
      {.name = "FILTER_ALPHA", .setting = &ControlSettings::filter_alpha, .factors = {0.25, 1, 2.5}},
  };
  return kKnobs;
}

Sustained Sustain(SimulationOptions options) {
  options.scenario = FindScenario("sustained-3x");
  const SimulationResult run = Simulate(options);
  const TickRow& last = run.rows.back();
  const double settle_s = last.pending_bytes / options.geometry->lsm.geometry.background_bytes_per_second;
  const double bulk = run.figures.bulk_bytes_per_second;
  return {.bytes_per_second = bulk,
          .adjusted_bytes_per_second = bulk * options.seconds / (options.seconds + settle_s),
          .stalled_seconds = run.figures.stalled_seconds,
          .tree_bytes = last.tree_bytes};
}

}  // namespace

Sustained SustainedByWeir(const Geometry& geometry, const LimiterSettings& settings, double seconds) {
  return Sustain({.geometry = &geometry, .settings = settings, .seconds = seconds});
}

// Bytes/s; an engine that brakes at less has no best rate.
constexpr double kLeastRate = 10e3;

Sustained SustainedByBestFixedRate(const Geometry& geometry, const LimiterSettings& settings, double seconds) {
  const auto at = [&](double rate) {
    return Sustain({.geometry = &geometry,
                    .law = "fixed",
                    .fixed_bytes_per_second = rate,
                    .settings = settings,
                    .seconds = seconds});
  };
  double low = 0;
  double high = 3 * geometry.sustained_bytes_per_second;
  Sustained best;
  while (high - low > 0.02 * high && high > kLeastRate) {
    const double rate = (low + high) / 2;
    const Sustained found = at(rate);
    if (found.stalled_seconds > 0) {
      high = rate;
    } else {
      low = rate;
      best = found;
    }
  }
  return best;
}

std::string GrowthTable(const Geometry& geometry, const LimiterSettings& settings) {
  std::string text =
      "| minutes | tree GB | best fixed rate: MB/s | debt-adjusted | weir: MB/s | debt-adjusted | of the best | braked "
      "s |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const double minutes : {1, 10, 60}) {
    const Sustained fixed = SustainedByBestFixedRate(geometry, settings, minutes * 60);
    const Sustained weir = SustainedByWeir(geometry, settings, minutes * 60);
    text += "| " + Cell("%.0f", minutes) + " | " + Cell("%.1f", weir.tree_bytes / 1e9) + " | " +
            Cell("%.2f", fixed.bytes_per_second / 1e6) + " | " + Cell("%.2f", fixed.adjusted_bytes_per_second / 1e6) +
            " | " + Cell("%.2f", weir.bytes_per_second / 1e6) + " | " +
            Cell("%.2f", weir.adjusted_bytes_per_second / 1e6) + " | " +
            Cell("%+.0f %%", 100 * (weir.adjusted_bytes_per_second / fixed.adjusted_bytes_per_second - 1)) + " | " +
            Cell("%.0f", weir.stalled_seconds) + " |\n";
  }
  return text;
}

std::string BakeOffTable(const Geometry& geometry, const LimiterSettings& settings) {
  std::string text = "| scenario |";
  std::string rule = "|---|";
  for (const std::string_view law : LawNames()) {
    text += " " + std::string(law) + " |";
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const Scenario& scenario : Scenarios()) {
    text += "| " + std::string(scenario.name) + " |";
    for (const std::string_view law : LawNames()) {
      // Only weir has a process variable to choose.
      if (scenario.weighted && law != "weir") {
        text += " |";
        continue;
      }
      const Figures f =
          Simulate({.scenario = &scenario, .geometry = &geometry, .law = law, .settings = settings}).figures;
      text += " " + Cell("%.0f", f.overshoot_percent) + " · " + Cell("%.0f", f.settling_seconds) + " · " +
              Cell("%.0f", f.stalled_seconds) + " · " + Cell("%.1f", f.interactive_p999_ms) + " · " +
              Cell("%.1f", f.bulk_bytes_per_second / 1e6) + " |";
    }
    text += "\n";
  }
  return text;
}

std::string TuningTable(const Geometry& geometry, const LimiterSettings& settings) {
  std::string text =
      "| setting | value | step: overshoot % | settling s | bandwidth: overshoot % | settling s | steady error |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const Knob& knob : AllKnobs()) {
    for (const double factor : knob.factors) {
      SimulationOptions options{.geometry = &geometry, .settings = settings};
      double& value = knob.Of(options.settings.bulk);
      value *= factor;
      options.scenario = FindScenario("step");
      const Figures step = Simulate(options).figures;
      options.scenario = FindScenario("bandwidth");
      const Figures cut = Simulate(options).figures;
      text += "| " + std::string(knob.name) + " | " + FormatNumber(value) + (factor == 1 ? " (default)" : "") + " | " +
              Cell("%.0f", step.overshoot_percent) + " | " + Cell("%.0f", step.settling_seconds) + " | " +
              Cell("%.0f", cut.overshoot_percent) + " | " + Cell("%.0f", cut.settling_seconds) + " | " +
              Cell("%+.3f", cut.steady_error) + " |\n";
    }
  }
  return text;
}

}  // namespace weir
