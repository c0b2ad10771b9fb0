#include "bench/relay/load_scenario.h"

#include <stdlib.h>

#include <algorithm>
#include <cmath>

#include "bench/relay/publisher.h"

namespace weir {

void AddLatency(const std::string& name, const LatencyHistogram& latency, LoadFigures* figures) {
  if (latency.count() == 0) return;
  figures->push_back({name + " p50", "ms", Milliseconds(latency.Quantile(0.5))});
  figures->push_back({name + " p99", "ms", Milliseconds(latency.Quantile(0.99))});
  figures->push_back({name + " p99.9", "ms", Milliseconds(latency.Quantile(0.999))});
  figures->push_back({name + " max", "ms", Milliseconds(latency.max())});
}

void AddPublished(const Publisher& publisher, LoadFigures* figures) {
  figures->push_back({"events", "", static_cast<double>(publisher.answered())});
  figures->push_back({"rate", "events/s", static_cast<double>(publisher.accepted()) / publisher.seconds()});
  AddLatency("OK", publisher.latency(), figures);
  figures->push_back({"accepted", "", static_cast<double>(publisher.accepted())});
  for (const auto& [word, count] : publisher.refused())
    figures->push_back({"refused " + word, "", static_cast<double>(count)});
}

size_t LoadPlan::Scaled(size_t count) const {
  return std::max<size_t>(1, static_cast<size_t>(std::llround(static_cast<double>(count) * scale)));
}

EventRecipe LoadPlan::Recipe(const std::string& purpose, size_t count, bool one_author) const {
  return {.purpose = purpose, .seed = seed, .count = count, .day = Today(), .one_author = one_author};
}

Result<LoadFigures> Measure(LoadScenario* scenario, const LoadTarget& target, const LoadPlan& plan) {
  double load = 0;
  const bool known = getloadavg(&load, 1) == 1;
  auto figures = scenario->Run(target, plan);
  if (figures.ok() && known) figures.value().push_back({"load average before", "", load});
  return figures;
}

std::vector<std::unique_ptr<LoadScenario>> AllScenarios() {
  std::vector<std::unique_ptr<LoadScenario>> all;
  all.push_back(MakeIdle());
  all.push_back(MakeIngest());
  all.push_back(MakeReq());
  all.push_back(MakeFanOut());
  all.push_back(MakeStormOnRelay());
  all.push_back(MakeBurst());
  all.push_back(MakePaced());
  return all;
}

}  // namespace weir
