// Publishes all events at once, as fast as the sockets take them. Shows whether the relay's memory holds the events
// that it cannot save yet, and how long the REQs of one reader take meanwhile.
#include <chrono>

#include "bench/relay/load_scenario.h"
#include "bench/relay/publisher.h"
#include "bench/relay/readers.h"
#include "bench/relay/usage_meter.h"

namespace weir {
namespace {

class Burst final : public LoadScenario {
 public:
  std::string_view name() const override { return "burst"; }
  std::string_view meaning() const override { return "all events at once: memory, OK latency, the worst REQ"; }

  void AddOptions(CommandLine line) override {
    line.Add("--burst-events", &events_, "events").ShowDefault().Within(1, 10'000'000);
    line.Add("--connections", &connections_, "connections").ShowDefault().Within(1, 1000);
    line.Add("--interval-ms", &interval_ms_, "of the reader's REQs").ShowDefault().Within(1, 60'000);
  }

  Result<LoadFigures> Run(const LoadTarget& target, const LoadPlan& plan) override {
    const auto stored = plan.Preloaded();
    if (!stored.ok()) return stored.status();
    const auto events = plan.Events("burst", plan.Scaled(events_));
    if (!events.ok()) return events.status();
    Publisher publisher(events.value());
    Readers reader;
    MemoryPeak peak;
    Loop loop(plan.patience);
    if (Status s = publisher.Connect(target.endpoint, connections_, &loop); !s.ok()) return s;
    if (Status s = loop.RunFor(kSettle); !s.ok()) return s;
    const auto idle = target.pid > 0 ? ReadMemory(target.pid) : Result<ServerMemory>(ServerMemory{});
    if (!idle.ok()) return idle.status();
    const auto meter = UsageMeter::Start(target);
    if (!meter.ok()) return meter.status();
    peak.Start(target.pid, &loop);
    if (Status s =
            reader.Start(target.endpoint, stored.value(), 1, std::chrono::milliseconds(interval_ms_), plan.seed, &loop);
        !s.ok())
      return s;
    publisher.StartBurst();
    if (Status s = publisher.AwaitAnswers(&loop); !s.ok()) return s;
    LoadFigures figures;
    AddPublished(publisher, &figures);
    if (Status s = meter.value().AddProcessor("event", static_cast<double>(publisher.accepted()), &figures); !s.ok())
      return s;
    reader.Stop();
    if (Status s = loop.Run([&] { return reader.idle(); }, "the last EOSE"); !s.ok()) return s;
    LatencyHistogram reads;
    reader.MergeInto(&reads);
    AddLatency("REQ", reads, &figures);
    if (target.pid > 0) AddPeak(idle.value(), peak.most(), &figures);
    return figures;
  }

 private:
  static constexpr Duration kSettle = std::chrono::seconds(1);

  static void AddPeak(const ServerMemory& idle, const ServerMemory& most, LoadFigures* figures) {
    figures->push_back({"resident before", "MB", idle.resident_mb});
    figures->push_back({"resident above idle", "MB", most.resident_mb - idle.resident_mb});
    figures->push_back({"anonymous above idle", "MB", most.anonymous_mb - idle.anonymous_mb});
    figures->push_back({"peak resident", "MB", most.peak_resident_mb});
  }

  size_t events_ = 50'000;
  size_t connections_ = 16;
  int interval_ms_ = 50;
};

}  // namespace

std::unique_ptr<LoadScenario> MakeBurst() { return std::make_unique<Burst>(); }

}  // namespace weir
