// One publisher, many live subscribers: measures how late and how costly a delivery is, and whether all arrive.
#include "bench/relay/load_scenario.h"
#include "bench/relay/publisher.h"
#include "bench/relay/subscriber.h"
#include "bench/relay/usage_meter.h"

namespace weir {
namespace {

class FanOut final : public LoadScenario {
 public:
  std::string_view name() const override { return "fan-out"; }
  std::string_view meaning() const override { return "live delivery to many: latency, cost of a delivery, losses"; }

  void AddOptions(CommandLine line) override {
    line.Add("--subscribers", &subscribers_, "connections").ShowDefault().Within(1, 10'000);
    line.Add("--rate", &rate_, "events a second").ShowDefault().Within(0.1, 100'000.0);
    line.Add("--seconds", &seconds_, "how long").ShowDefault().Within(0.1, 86'400.0);
    line.Add("--read-from", &read_from_,
             "ws://127.0.0.1:PORT of another relay on the same store, for the subscribers; --pid is that one's")
        .Check("URL", [](const std::string& url) { return ParseEndpoint(url).status(); });
  }

  Result<LoadFigures> Run(const LoadTarget& target, const LoadPlan& plan) override {
    const double seconds = plan.Scaled(seconds_);
    const auto events = plan.Events("fan-out", static_cast<size_t>(rate_ * seconds) + 1, true);
    if (!events.ok()) return events.status();
    Publisher publisher(events.value());
    Subscribers live(events.value(), publisher);
    Loop loop(plan.patience + FromSeconds(seconds));
    const Endpoint readers = read_from_.empty() ? target.endpoint : ParseEndpoint(read_from_).value();
    if (Status s = live.Connect(readers, subscribers_, &loop); !s.ok()) return s;
    if (Status s = publisher.Connect(target.endpoint, 1, &loop); !s.ok()) return s;
    const auto meter = UsageMeter::Start(target);
    if (!meter.ok()) return meter.status();
    publisher.StartPaced(rate_, &loop);
    if (Status s = publisher.AwaitAnswers(&loop); !s.ok()) return s;
    if (Status s = live.AwaitDeliveries(&loop); !s.ok()) return s;
    LoadFigures figures;
    AddLatency("delivery", live.latency(), &figures);
    const auto received = static_cast<double>(live.received());
    figures.push_back({"deliveries", "", received});
    figures.push_back({"lost", "", live.lost()});
    figures.push_back({"repeated", "", static_cast<double>(live.repeated())});
    if (Status s = meter.value().AddProcessor("delivery", received, &figures); !s.ok()) return s;
    AddLatency("OK", publisher.latency(), &figures);
    return figures;
  }

 private:
  size_t subscribers_ = 100;
  double rate_ = 100;
  double seconds_ = 10;
  std::string read_from_;
};

}  // namespace

std::unique_ptr<LoadScenario> MakeFanOut() { return std::make_unique<FanOut>(); }

}  // namespace weir
