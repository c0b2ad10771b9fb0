// Publishes at a fixed rate, far below capacity: measures the cost of an event, above all on the disk, when few events
// can share a commit.
#include <chrono>

#include "bench/relay/load_scenario.h"
#include "bench/relay/publisher.h"
#include "bench/relay/usage_meter.h"

namespace weir {
namespace {

class Paced final : public LoadScenario {
 public:
  std::string_view name() const override { return "paced"; }
  std::string_view meaning() const override {
    return "publish in an open loop: bytes written for an event, OK latency";
  }

  void AddOptions(CommandLine line) override {
    line.Add("--rate", &rate_, "events a second").ShowDefault().Within(0.1, 100'000.0);
    line.Add("--seconds", &seconds_, "how long").ShowDefault().Within(0.1, 86'400.0);
    line.Add("--connections", &connections_, "connections").ShowDefault().Within(1, 1000);
  }

  Result<LoadFigures> Run(const LoadTarget& target, const LoadPlan& plan) override {
    const double seconds = plan.Scaled(seconds_);
    const auto events = plan.Events("paced", static_cast<size_t>(rate_ * seconds) + 1);
    if (!events.ok()) return events.status();
    Publisher publisher(events.value());
    Loop loop(plan.patience + FromSeconds(seconds));
    if (Status s = publisher.Connect(target.endpoint, connections_, &loop); !s.ok()) return s;
    const auto meter = UsageMeter::Start(target);
    if (!meter.ok()) return meter.status();
    publisher.StartPaced(rate_, &loop);
    if (Status s = publisher.AwaitAnswers(&loop); !s.ok()) return s;
    LoadFigures figures;
    const auto count = static_cast<double>(publisher.accepted());
    AddPublished(publisher, &figures);
    if (Status s = meter.value().AddProcessor("event", count, &figures); !s.ok()) return s;
    if (Status s = meter.value().AddDisk("event", count, &figures); !s.ok()) return s;
    return figures;
  }

 private:
  double rate_ = 200;
  double seconds_ = 120;  // long enough for some flushes of memtables
  size_t connections_ = 4;
};

}  // namespace

std::unique_ptr<LoadScenario> MakePaced() { return std::make_unique<Paced>(); }

}  // namespace weir
