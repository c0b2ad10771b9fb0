// REQ to EOSE, one shape after the other on one connection of an otherwise idle relay that holds the events of
// `ingest`. What came is counted and summed, so that two relays can be seen to have answered the same.
#include <algorithm>
#include <chrono>

#include "bench/relay/load_scenario.h"
#include "bench/relay/reader.h"
#include "bench/relay/shapes.h"
#include "bench/relay/usage_meter.h"

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
  }

  Result<LoadFigures> Run(const LoadTarget& target, const LoadPlan& plan) override {
    const auto stored = plan.Preloaded();
    if (!stored.ok()) return stored.status();
    LoadFigures figures;
    const size_t variants = plan.Scaled(std::max(requests_, heavy_requests_));
    for (const ReqShape& shape : ReqShapes(stored.value(), variants, plan.seed)) {
      const size_t count = plan.Scaled(shape.heavy ? heavy_requests_ : requests_);
      if (Status s = RunShape(target, plan, shape, count, &figures); !s.ok()) return s;
    }
    return figures;
  }

 private:
  static Status RunShape(const LoadTarget& target, const LoadPlan& plan, const ReqShape& shape, size_t count,
                         LoadFigures* figures) {
    Reader reader(shape.filters);
    Loop loop(plan.patience);
    if (Status s = reader.Connect(target.endpoint, &loop); !s.ok()) return s;
    const auto meter = UsageMeter::Start(target);
    if (!meter.ok()) return meter.status();
    reader.Start(Duration::zero(), Duration::zero(), count);
    if (Status s = loop.Run([&] { return reader.answered() == count; }, "the EOSE of \"" + shape.name + "\""); !s.ok())
      return s;
    LoadFigures of_shape;
    AddLatency("EOSE", reader.latency(), &of_shape);
    if (Status s = meter.value().AddProcessor("REQ", static_cast<double>(count), &of_shape); !s.ok()) return s;
    of_shape.push_back({"results", "", static_cast<double>(reader.results())});
    of_shape.push_back({"digest", "digest", static_cast<double>(reader.digest())});
    if (reader.closed() > 0) of_shape.push_back({"closed", "", static_cast<double>(reader.closed())});
    for (LoadFigure& figure : of_shape) {
      figure.name = shape.name + ": " + figure.name;
      figures->push_back(figure);
    }
    return Status();
  }

  size_t requests_ = 1000;
  size_t heavy_requests_ = 200;
};

}  // namespace

std::unique_ptr<LoadScenario> MakeReq() { return std::make_unique<Req>(); }

}  // namespace weir
