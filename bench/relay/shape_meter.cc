#include "bench/relay/shape_meter.h"

#include "bench/relay/reader.h"
#include "bench/relay/usage_meter.h"

namespace weir {

Result<LoadFigures> MeasureShape(const LoadTarget& target, const LoadPlan& plan, const ReqShape& shape,
                                 size_t requests) {
  Reader reader(shape.filters);
  Loop loop(plan.patience);
  if (Status s = reader.Connect(target.endpoint, &loop); !s.ok()) return s;
  const auto meter = UsageMeter::Start(target);
  if (!meter.ok()) return meter.status();
  reader.Start(Duration::zero(), Duration::zero(), requests);
  const auto done = [&] { return reader.answered() == requests; };
  if (Status s = loop.Run(done, "the EOSE of \"" + shape.name + "\""); !s.ok()) return s;
  LoadFigures figures;
  AddLatency("EOSE", reader.latency(), &figures);
  if (Status s = meter.value().AddProcessor("REQ", static_cast<double>(requests), &figures); !s.ok()) return s;
  figures.push_back({"results", "", static_cast<double>(reader.results())});
  figures.push_back({"digest", "digest", static_cast<double>(reader.digest())});
  if (reader.closed() > 0) figures.push_back({"closed", "", static_cast<double>(reader.closed())});
  for (LoadFigure& figure : figures) figure.name = shape.name + ": " + figure.name;
  return figures;
}

}  // namespace weir
