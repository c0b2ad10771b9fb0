// Publishes over WebSocket as fast as the relay answers: measures capacity, and the cost of an event.
#include <chrono>

#include "bench/relay/load_scenario.h"
#include "bench/relay/publisher.h"
#include "bench/relay/usage_meter.h"

namespace weir {

namespace {

class Ingest final : public LoadScenario {
 public:
  std::string_view name() const override { return "ingest"; }
  std::string_view meaning() const override { return "publish in a closed loop: rate, OK latency, cost of an event"; }

  void AddOptions(CommandLine line) override {
    line.Add("--connections", &connections_, "connections").ShowDefault().Within(1, 1000);
    line.Add("--in-flight", &window_, "events unanswered on each").ShowDefault().Within(1, 100'000);
  }

  Result<LoadFigures> Run(const LoadTarget& target, const LoadPlan& plan) override {
    const auto events = plan.Preloaded();
    if (!events.ok()) return events.status();
    Publisher publisher(events.value());
    Loop loop(plan.patience);
    if (Status s = publisher.Connect(target.endpoint, connections_, &loop); !s.ok()) return s;
    const auto meter = UsageMeter::Start(target);
    if (!meter.ok()) return meter.status();
    publisher.StartClosedLoop(window_);
    if (Status s = publisher.AwaitAnswers(&loop); !s.ok()) return s;
    LoadFigures figures;
    const auto count = static_cast<double>(publisher.accepted());
    AddPublished(publisher, &figures);
    if (Status s = meter.value().AddProcessor("event", count, &figures); !s.ok()) return s;
    if (Status s = meter.value().AddMemory(&figures); !s.ok()) return s;
    if (Status s = loop.RunFor(kSettle); !s.ok()) return s;
    if (Status s = meter.value().AddDisk("event", count, &figures); !s.ok()) return s;
    return figures;
  }

 private:
  // A flush that the last events began is over by then.
  static constexpr Duration kSettle = std::chrono::seconds(2);

  size_t connections_ = 4;
  size_t window_ = 256;
};

}  // namespace

std::unique_ptr<LoadScenario> MakeIngest() { return std::make_unique<Ingest>(); }

}  // namespace weir
