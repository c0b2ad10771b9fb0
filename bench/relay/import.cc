// Imports into a relay that serves clients: compares the latencies of its readers and publishers during the import with
// those before.
#include <chrono>

#include "bench/relay/launch.h"
#include "bench/relay/load_scenario.h"
#include "bench/relay/publisher.h"
#include "bench/relay/readers.h"
#include "bench/relay/server_usage.h"

namespace weir {
namespace {

// The clients, which are alike in both phases, and their latencies in one phase.
class Clients {
 public:
  struct Load {
    double rate;
    size_t connections;
    size_t readers;
    Duration interval;
  };

  explicit Clients(const EventSet& events) : publisher_(events) {}

  Status Start(const LoadTarget& target, const EventSet& stored, const Load& load, uint64_t seed, Loop* loop) {
    if (Status s = publisher_.Connect(target.endpoint, load.connections, loop); !s.ok()) return s;
    if (Status s = readers_.Start(target.endpoint, stored, load.readers, load.interval, seed, loop); !s.ok()) return s;
    publisher_.StartPaced(load.rate, loop);
    return Status();
  }

  Status Finish(Loop* loop) {
    publisher_.Stop();
    readers_.Stop();
    if (Status s = publisher_.AwaitAnswers(loop); !s.ok()) return s;
    return loop->Run([&] { return readers_.idle(); }, "the last EOSE");
  }

  void AddFelt(const std::string& phase, LoadFigures* figures) const {
    size_t refused = 0;
    for (const auto& [word, count] : publisher_.refused()) refused += count;
    LatencyHistogram reads;
    readers_.MergeInto(&reads);
    figures->push_back({phase + " REQs", "", static_cast<double>(reads.count())});
    AddLatency(phase + " REQ", reads, figures);
    figures->push_back({phase + " EVENTs", "", static_cast<double>(publisher_.answered())});
    AddLatency(phase + " OK", publisher_.latency(), figures);
    figures->push_back({phase + " refused or closed", "", static_cast<double>(refused + readers_.closed())});
  }

  void MergeReadsInto(LatencyHistogram* latency) const { readers_.MergeInto(latency); }
  const LatencyHistogram& writes() const { return publisher_.latency(); }

 private:
  Publisher publisher_;
  Readers readers_;
};

// Measures how many cores the server uses, from Start to Add.
class ServerCores {
 public:
  static Result<ServerCores> Start(pid_t pid) {
    ServerCores cores(pid);
    if (pid <= 0) return cores;
    const auto time = ProcessorTime(pid);
    if (!time.ok()) return time.status();
    cores.time_ = time.value();
    return cores;
  }

  Status Add(const std::string& phase, LoadFigures* figures) const {
    if (pid_ <= 0) return Status();
    const auto time = ProcessorTime(pid_);
    if (!time.ok()) return time.status();
    const double seconds = ToSeconds(Loop::Now() - begin_);
    figures->push_back({phase + " server CPU", "cores", ToSeconds(time.value() - time_) / seconds});
    return Status();
  }

 private:
  explicit ServerCores(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  Duration time_{};
  TimePoint begin_ = Loop::Now();
};

void AddRatio(const std::string& name, const LatencyHistogram& base, const LatencyHistogram& during,
              LoadFigures* figures) {
  for (const auto& [quantile, label] : {std::pair{0.5, " p50"}, std::pair{0.99, " p99"}}) {
    if (base.count() == 0 || during.count() == 0) return;
    const double ratio = ToSeconds(during.Quantile(quantile)) / ToSeconds(base.Quantile(quantile));
    figures->push_back({name + label + " during : base", "", ratio});
  }
}

class Import final : public LoadScenario {
 public:
  std::string_view name() const override { return "import"; }
  std::string_view meaning() const override { return "clients at a steady pace, without and with an import beside"; }

  void AddOptions(CommandLine line) override {
    line.Add("--import", &command_,
             "command that imports {file} into the relay that runs; {db}, {dir} and {port} are filled in as well")
        .Required();
    line.Add("--import-events", &import_events_, "how many events it imports").ShowDefault().Within(1, 10'000'000);
    line.Add("--seconds", &seconds_, "of the phase without import").ShowDefault().Within(0.1, 86'400.0);
    line.Add("--rate", &load_.rate, "events a second of all publishers").ShowDefault().Within(0.1, 100'000.0);
    line.Add("--connections", &load_.connections, "publishers").ShowDefault().Within(1, 1000);
    line.Add("--readers", &load_.readers, "readers").ShowDefault().Within(1, 1000);
    line.Add("--interval-ms", &interval_ms_, "of a reader's REQs").ShowDefault().Within(1, 60'000);
  }

  Result<LoadFigures> Run(const LoadTarget& target, const LoadPlan& plan) override {
    load_.interval = std::chrono::milliseconds(interval_ms_);
    const double seconds = plan.Scaled(seconds_);
    const auto stored = plan.Preloaded();
    if (!stored.ok()) return stored.status();
    // All events are by one author and of kind 1, so they do not replace each other, and the relay refuses none for
    // that reason.
    const auto before = plan.Events("import-base", static_cast<size_t>(load_.rate * seconds) + 1, true);
    if (!before.ok()) return before.status();
    const auto beside =
        plan.Events("import-beside", static_cast<size_t>(load_.rate * ToSeconds(plan.patience)) + 1, true);
    if (!beside.ok()) return beside.status();
    const auto file = EventSet::MakeFile(plan.Recipe("import", plan.Scaled(import_events_)), plan.cache);
    if (!file.ok()) return file.status();

    if (Status s = Preload(target, plan, stored.value()); !s.ok()) return s;
    Loop loop(plan.patience + FromSeconds(seconds));
    Clients base(before.value());
    Clients during(beside.value());
    LoadFigures figures;
    if (Status s = MeasureBase(target, plan, stored.value(), seconds, &base, &loop, &figures); !s.ok()) return s;
    if (Status s = MeasureImport(target, plan, stored.value(), file.value(), &during, &loop, &figures); !s.ok())
      return s;
    LatencyHistogram base_reads;
    LatencyHistogram reads;
    base.MergeReadsInto(&base_reads);
    during.MergeReadsInto(&reads);
    AddRatio("REQ", base_reads, reads, &figures);
    AddRatio("OK", base.writes(), during.writes(), &figures);
    return figures;
  }

 private:
  // Publishes the events that the readers ask for. A relay that has them already refuses them, which is quick.
  static Status Preload(const LoadTarget& target, const LoadPlan& plan, const EventSet& stored) {
    constexpr size_t kConnections = 4;
    constexpr size_t kWindow = 256;
    constexpr Duration kToSettle = std::chrono::seconds(2);  // their flushes and compactions
    Publisher publisher(stored);
    Loop loop(plan.patience);
    if (Status s = publisher.Connect(target.endpoint, kConnections, &loop); !s.ok()) return s;
    publisher.StartClosedLoop(kWindow);
    if (Status s = publisher.AwaitAnswers(&loop); !s.ok()) return s;
    return loop.RunFor(kToSettle);
  }

  Status MeasureBase(const LoadTarget& target, const LoadPlan& plan, const EventSet& stored, double seconds,
                     Clients* clients, Loop* loop, LoadFigures* figures) const {
    const auto cores = ServerCores::Start(target.pid);
    if (!cores.ok()) return cores.status();
    if (Status s = clients->Start(target, stored, load_, plan.seed, loop); !s.ok()) return s;
    if (Status s = loop->RunFor(FromSeconds(seconds)); !s.ok()) return s;
    if (Status s = cores.value().Add("base", figures); !s.ok()) return s;
    if (Status s = clients->Finish(loop); !s.ok()) return s;
    clients->AddFelt("base", figures);
    return Status();
  }

  Status MeasureImport(const LoadTarget& target, const LoadPlan& plan, const EventSet& stored,
                       const std::filesystem::path& file, Clients* clients, Loop* loop, LoadFigures* figures) const {
    const std::filesystem::path dir = target.db.parent_path();
    const std::string command = FillIn(ExpandCommand(command_, target.endpoint.port, dir, target.db),
                                       {{"{file}", std::filesystem::absolute(file).string()}});
    auto scratch = TemporaryDirectory::Make(std::filesystem::temp_directory_path());
    if (!scratch.ok()) return scratch.status();
    const auto cores = ServerCores::Start(target.pid);
    if (!cores.ok()) return cores.status();
    if (Status s = clients->Start(target, stored, load_, plan.seed + load_.readers, loop); !s.ok()) return s;
    const auto import = Process::Start(command, scratch.value()->path() / "import.log");
    if (!import.ok()) return import.status();
    if (Status s = loop->Run([&] { return import.value()->Ended(); }, "the end of the import"); !s.ok()) return s;
    if (Status s = cores.value().Add("during", figures); !s.ok()) return s;
    const auto cost = import.value()->Cost();
    if (!cost.ok()) return cost.status();
    if (Status s = clients->Finish(loop); !s.ok()) return s;
    clients->AddFelt("during", figures);
    const auto events = static_cast<double>(plan.Scaled(import_events_));
    figures->push_back({"imported", "events/s", events / ToSeconds(cost.value().wall)});
    figures->push_back({"import seconds", "s", ToSeconds(cost.value().wall)});
    const Duration processor = cost.value().user + cost.value().system;
    figures->push_back({"import command CPU per event", "µs", ToSeconds(processor) * 1e6 / events});
    return Status();
  }

  std::string command_;
  size_t import_events_ = 100'000;
  double seconds_ = 20;
  Clients::Load load_{.rate = 200, .connections = 4, .readers = 4, .interval = {}};
  int interval_ms_ = 100;
};

}  // namespace

std::unique_ptr<LoadScenario> MakeImport() { return std::make_unique<Import>(); }

}  // namespace weir
