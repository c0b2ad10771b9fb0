// Puts more load on the relay than it can take: publishers never pause. The figures are the latencies of readers, a
// quiet publisher and a live subscriber.
#include <chrono>

#include "bench/relay/load_scenario.h"
#include "bench/relay/publisher.h"
#include "bench/relay/readers.h"
#include "bench/relay/subscriber.h"
#include "bench/relay/usage_meter.h"

namespace weir {
namespace {

class StormOnRelay final : public LoadScenario {
 public:
  std::string_view name() const override { return "storm"; }
  std::string_view meaning() const override { return "publishers without pause, and what everybody else feels"; }

  void AddOptions(CommandLine line) override {
    line.Add("--connections", &connections_, "publishers").ShowDefault().Within(1, 1000);
    line.Add("--in-flight", &window_, "events unanswered on each").ShowDefault().Within(1, 100'000);
    line.Add("--storm-events", &events_, "how long, in events").ShowDefault().Within(1, 10'000'000);
    line.Add("--readers", &readers_, "readers").ShowDefault().Within(0, 1000);
    line.Add("--interval-ms", &interval_ms_, "of a reader's REQs; 0: no pause").ShowDefault().Within(0, 60'000);
    line.Add("--live-rate", &live_rate_, "events a second of the quiet publisher").ShowDefault().Within(0.1, 1000.0);
  }

  Result<LoadFigures> Run(const LoadTarget& target, const LoadPlan& plan) override {
    const auto stored = plan.Preloaded();
    if (!stored.ok()) return stored.status();
    const auto events = plan.Events("storm", plan.Scaled(events_));
    if (!events.ok()) return events.status();
    const auto quiet_count = static_cast<size_t>(live_rate_ * ToSeconds(plan.patience)) + 1;
    const auto quiet_events = plan.Events("storm-live", quiet_count, true);
    if (!quiet_events.ok()) return quiet_events.status();

    Publisher storm(events.value());
    Publisher quiet(quiet_events.value());
    Subscribers live(quiet_events.value(), quiet);
    Readers readers;
    Loop loop(plan.patience);
    if (Status s = live.Connect(target.endpoint, 1, &loop); !s.ok()) return s;
    if (Status s = quiet.Connect(target.endpoint, 1, &loop); !s.ok()) return s;
    if (Status s = storm.Connect(target.endpoint, connections_, &loop); !s.ok()) return s;
    const auto meter = UsageMeter::Start(target);
    if (!meter.ok()) return meter.status();
    storm.StartClosedLoop(window_);
    quiet.StartPaced(live_rate_, &loop);
    if (Status s = readers.Start(target.endpoint, stored.value(), readers_, std::chrono::milliseconds(interval_ms_),
                                 plan.seed, &loop);
        !s.ok())
      return s;
    if (Status s = storm.AwaitAnswers(&loop); !s.ok()) return s;
    LoadFigures figures;
    AddPublished(storm, &figures);
    if (Status s = meter.value().AddProcessor("event", static_cast<double>(storm.accepted()), &figures); !s.ok())
      return s;
    if (Status s = meter.value().AddMemory(&figures); !s.ok()) return s;
    quiet.Stop();
    readers.Stop();
    if (Status s = quiet.AwaitAnswers(&loop); !s.ok()) return s;
    if (Status s = loop.Run([&] { return readers.idle(); }, "the last EOSE"); !s.ok()) return s;
    if (Status s = live.AwaitDeliveries(&loop); !s.ok()) return s;
    AddFelt(readers, quiet, live, &figures);
    return figures;
  }

 private:
  static void AddFelt(const Readers& readers, const Publisher& quiet, const Subscribers& live, LoadFigures* figures) {
    LatencyHistogram reads;
    readers.MergeInto(&reads);
    figures->push_back({"REQs", "", static_cast<double>(reads.count())});
    AddLatency("REQ", reads, figures);
    if (readers.closed() > 0) figures->push_back({"REQs closed", "", static_cast<double>(readers.closed())});
    AddLatency("live", live.latency(), figures);
    AddLatency("quiet OK", quiet.latency(), figures);
    figures->push_back({"live lost", "", live.lost()});
  }

  size_t connections_ = 8;
  size_t window_ = 512;
  size_t events_ = 150'000;
  size_t readers_ = 4;
  int interval_ms_ = 100;
  double live_rate_ = 10;
};

}  // namespace

std::unique_ptr<LoadScenario> MakeStormOnRelay() { return std::make_unique<StormOnRelay>(); }

}  // namespace weir
