// Measures REQ to EOSE, one shape after the other, on one connection of an otherwise idle relay that holds the events
// of `ingest`.
#include <algorithm>

#include "bench/relay/load_scenario.h"
#include "bench/relay/shape_meter.h"

namespace weir {
namespace {

class Req final : public LoadScenario {
 public:
  std::string_view name() const override { return "req"; }
  std::string_view meaning() const override { return "REQ to EOSE by shape: latency, cost, and whether results agree"; }

  void AddOptions(CommandLine line) override {
    line.Add("--requests", &requests_, "of each shape").ShowDefault().Within(1, 1'000'000);
    line.Add("--heavy-requests", &heavy_requests_, "of each shape with hundreds of results")
        .ShowDefault()
        .Within(1, 1'000'000);
    line.Add("--shape", &only_, "of these only, for a profiler: kind+since 500");
  }

  Result<LoadFigures> Run(const LoadTarget& target, const LoadPlan& plan) override {
    const auto stored = plan.Preloaded();
    if (!stored.ok()) return stored.status();
    LoadFigures figures;
    const size_t variants = plan.Scaled(std::max(requests_, heavy_requests_));
    for (const ReqShape& shape : ReqShapes(stored.value(), variants, plan.seed)) {
      if (!only_.empty() && shape.name != only_) continue;
      const size_t count = plan.Scaled(shape.heavy ? heavy_requests_ : requests_);
      const auto of_shape = MeasureShape(target, plan, shape, count);
      if (!of_shape.ok()) return of_shape.status();
      figures.insert(figures.end(), of_shape.value().begin(), of_shape.value().end());
    }
    if (figures.empty()) return Status::Error("--shape " + only_ + ": no shape has that name");
    return figures;
  }

 private:
  size_t requests_ = 1000;
  size_t heavy_requests_ = 200;
  std::string only_;  // empty: all
};

}  // namespace

std::unique_ptr<LoadScenario> MakeReq() { return std::make_unique<Req>(); }

}  // namespace weir
