#include "bench/relay/lived_in.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>

#include "bench/relay/gauges.h"
#include "bench/relay/measured_relay.h"
#include "bench/relay/page_cache.h"
#include "bench/relay/publisher.h"
#include "bench/relay/report.h"
#include "bench/relay/server_usage.h"
#include "bench/relay/shape_meter.h"
#include "bench/relay/usage_meter.h"
#include "config/text/parse.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

// The shapes take their parameters from at most so many events; ten million would take 8 GB of memory.
constexpr size_t kMostSampled = 1'000'000;
// With a lower memory target, a relay of weir has no memory left for its caches: the program itself takes 70 MB.
constexpr uint64_t kLeastMemoryMb = 128;
// RocksDB's first looks at its tables after a start are over by then.
constexpr double kSettleSeconds = 1;

class LivedIn {
 public:
  LivedIn(const LivedInOptions& options, const LoadPlan& plan) : options_(options), plan_(plan) {}

  Status RunAll() {
    const size_t events = plan_.Scaled(plan_.events);
    const auto file = EventSet::MakeFile(plan_.Recipe("ingest", events), plan_.cache);
    if (!file.ok()) return file.status();
    file_ = file.value();
    if (Status s = MakeShapes(events); !s.ok()) return s;
    EventRecipe recipe = plan_.Recipe("lived-in", plan_.Scaled(options_.published));
    recipe.lived_in = true;
    const auto published = EventSet::Get(recipe, plan_.cache);
    if (!published.ok()) return published.status();
    for (repetition_ = 1; repetition_ <= options_.repetitions; ++repetition_)
      if (Status s = RunOnce(events, published.value()); !s.ok()) return s;
    return Status();
  }

  Results& results() { return results_; }

 private:
  Status MakeShapes(size_t events) {
    const auto stored = EventSet::Sample(file_, (events + kMostSampled - 1) / kMostSampled);
    if (!stored.ok()) return stored.status();
    const size_t questions = plan_.Scaled(options_.questions);
    shapes_ = ReqShapes(stored.value(), std::max(plan_.Scaled(options_.requests), questions), plan_.seed);
    for (const ReqShape& shape : shapes_) each_once_.push_back(EachOnce(shape, questions));
    return Status();
  }

  Status RunOnce(size_t events, const EventSet& published) {
    relays_.clear();
    auto scratch = TemporaryDirectory::Make(options_.scratch);
    if (!scratch.ok()) return scratch.status();
    scratch_ = std::move(scratch).value();
    for (const size_t i : OrderOf(options_.servers.size(), repetition_))
      if (Status s = Add(options_.servers[i]); !s.ok()) return s;
    const auto can_drop_pages = CanDropPages();
    if (!can_drop_pages.ok()) return can_drop_pages.status();
    const std::function<Status()> steps[] = {
        [&] { return Each("import", [&](MeasuredRelay& relay) { return Import(relay, events); }); },
        [&] { return Ask("fresh"); },
        [&] { return Each("publish", [&](MeasuredRelay& relay) { return Publish(relay, published); }); },
        [&] { return Ask("lived-in"); },
        [&] { return Each("size", [&](MeasuredRelay& relay) { return AddSize(relay); }); },
        [&] { return AskFirst("restarted", Left::kNote); },
        [&] { return AskFirst("first-touch", Left::kPages); },
        [&] { return can_drop_pages.value() ? AskFirst("first-touch-cold", Left::kNothing) : Status(); },
        [&] { return Each("live", [&](MeasuredRelay& relay) { return Subscribe(relay); }); },
        [&] { return AskWithLittleMemory("larger-than-memory"); },
        [&] { return Each("stop", [](MeasuredRelay& relay) { return relay.Stop(); }); },
    };
    for (const auto& step : steps)
      if (Status s = step(); !s.ok()) return s;
    return Status();
  }

  Status Add(const Contender& server) {
    const auto import = std::find_if(options_.imports.begin(), options_.imports.end(),
                                     [&](const Contender& c) { return c.name == server.name; });
    if (import == options_.imports.end()) return Status::Error(server.name + ": no --import has its name");
    relays_.emplace_back(server, import->command, scratch_->path() / server.name);
    return Status();
  }

  Status Each(const std::string& what, const std::function<Status(MeasuredRelay&)>& act) {
    for (MeasuredRelay& relay : relays_) {
      Say(relay.name(), what);
      if (Status s = act(relay); !s.ok()) return relay.Explain(s);
    }
    return Status();
  }

  Status AddResults(const MeasuredRelay& relay, const std::string& scenario, const LoadFigures& figures, int run = 0) {
    return results_.Add(relay.name(), run > 0 ? run : repetition_, scenario, figures);
  }

  Status Start(MeasuredRelay& relay, const std::string& state, uint64_t memory_mb, int run = 0) {
    const auto time = relay.Start(memory_mb);
    if (!time.ok()) return time.status();
    return AddResults(relay, state, {{"start", "ms", Milliseconds(time.value())}}, run);
  }
  int RunOf(int round) const { return (repetition_ - 1) * options_.rounds + round; }

  Status Import(MeasuredRelay& relay, size_t events) {
    const auto cost = relay.Import(file_);
    if (!cost.ok()) return cost.status();
    const double seconds = ToSeconds(cost.value().wall);
    const double processor = ToSeconds(cost.value().user + cost.value().system);
    const auto per_event = [&](double s) { return s * 1e6 / static_cast<double>(events); };
    if (Status s = AddResults(relay, "import",
                              {{"seconds", "s", seconds},
                               {"time per event", "µs", per_event(seconds)},
                               {"CPU per event", "µs", per_event(processor)}});
        !s.ok())
      return s;
    return Start(relay, "fresh", options_.memory_mb);
  }

  // Publishes the clients' events, and restarts the relay.
  Status Publish(MeasuredRelay& relay, const EventSet& events) {
    constexpr size_t kConnections = 8;
    constexpr size_t kWindow = 50;
    Publisher publisher(events);
    Loop loop(plan_.patience);
    if (Status s = publisher.Connect(relay.target().endpoint, kConnections, &loop); !s.ok()) return s;
    const auto meter = UsageMeter::Start(relay.target());
    if (!meter.ok()) return meter.status();
    publisher.StartClosedLoop(kWindow);
    if (Status s = publisher.AwaitAnswers(&loop); !s.ok()) return s;
    LoadFigures figures;
    AddPublished(publisher, &figures);
    const auto accepted = static_cast<double>(publisher.accepted());
    if (Status s = meter.value().AddProcessor("event", accepted, &figures); !s.ok()) return s;
    if (Status s = meter.value().AddDisk("event", accepted, &figures); !s.ok()) return s;
    AddGauges(relay, &figures);
    if (Status s = AddResults(relay, "publish", figures); !s.ok()) return s;
    if (Status s = relay.Stop(); !s.ok()) return s;
    return Start(relay, "lived-in", options_.memory_mb);
  }

  // A relay of another kind may have no metrics.
  void AddGauges(const MeasuredRelay& relay, LoadFigures* figures) const {
    const auto values = ReadGauges(relay.target().endpoint, options_.gauges);
    if (!values.ok()) return Say(relay.name(), values.status().message());
    for (size_t i = 0; i < options_.gauges.size(); ++i)
      if (!std::isnan(values.value()[i])) figures->push_back({options_.gauges[i], "", values.value()[i]});
  }

  Status AddSize(const MeasuredRelay& relay) {
    LoadFigures figures;
    const auto meter = UsageMeter::Start(relay.target());
    if (!meter.ok()) return meter.status();
    if (Status s = meter.value().AddMemory(&figures); !s.ok()) return s;
    const auto disk = DiskBytes(relay.db());
    if (!disk.ok()) return disk.status();
    figures.push_back({"disk", "MB", static_cast<double>(disk.value()) / 1e6});
    return AddResults(relay, "size", figures);
  }

  Status Measure(MeasuredRelay& relay, const ReqShape& shape, size_t requests, const std::string& state, int round) {
    const auto figures = MeasureShape(relay.target(), plan_, shape, requests);
    if (!figures.ok()) return figures.status();
    return AddResults(relay, state, figures.value(), RunOf(round));
  }

  // Calls `ask` for each relay in turn, shape by shape, in every round.
  using AskOne = std::function<Status(MeasuredRelay&, const ReqShape&, int round)>;
  Status AskAll(const std::vector<ReqShape>& shapes, const std::string& state, const AskOne& ask) {
    Say("all", "ask, " + state);
    for (int round = 1; round <= options_.rounds; ++round)
      for (const ReqShape& shape : shapes)
        for (const size_t i : OrderOf(relays_.size(), round))
          if (Status s = ask(relays_[i], shape, round); !s.ok()) return relays_[i].Explain(s);
    return Status();
  }

  Status Ask(const std::string& state) {
    return AskAll(shapes_, state, [&](MeasuredRelay& relay, const ReqShape& shape, int round) {
      return Measure(relay, shape, RequestsOf(shape), state, round);
    });
  }
  size_t RequestsOf(const ReqShape& shape) const {
    return plan_.Scaled(shape.heavy ? options_.requests / 10 + 1 : options_.requests);
  }

  // A start finds the note by which weir reads what was in its memory before, and the kernel's page cache; the page
  // cache alone; or neither.
  enum class Left : uint8_t { kNote, kPages, kNothing };
  static constexpr const char* kNote = "recently-read";

  // Every shape has a start of its own, so that it finds nothing warm that another shape has read.
  Status AskFirst(const std::string& state, Left left) {
    return AskAll(each_once_, state, [&](MeasuredRelay& relay, const ReqShape& shape, int round) {
      if (Status s = relay.Stop(); !s.ok()) return s;
      if (left != Left::kNote) std::filesystem::remove(relay.db() / kNote);
      if (left == Left::kNothing)
        if (Status s = DropPages(relay, state, RunOf(round)); !s.ok()) return s;
      if (Status s = Start(relay, state, options_.memory_mb, RunOf(round)); !s.ok()) return s;
      if (Status s = Loop(plan_.patience).RunFor(FromSeconds(plan_.Scaled(kSettleSeconds))); !s.ok()) return s;
      return Measure(relay, shape, shape.filters.size(), state, round);
    });
  }

  // Returns whether the file system of the databases lets go of a file.
  Result<bool> CanDropPages() const {
    const auto directory = TemporaryDirectory::Make(options_.scratch);
    if (!directory.ok()) return directory.status();
    std::ofstream(directory.value()->path() / "file") << std::string(1 << 20, '.');
    const auto left = DropFromPageCache(directory.value()->path());
    if (!left.ok()) return left.status();
    if (left.value() > 0) Say("all", "left out: first-touch-cold; --scratch is on a file system in memory");
    return left.value() == 0;
  }

  Status DropPages(const MeasuredRelay& relay, const std::string& state, int run) {
    const auto left = DropFromPageCache(relay.db());
    if (!left.ok()) return left.status();
    return AddResults(relay, state, {{"still in the page cache", "MB", static_cast<double>(left.value()) / 1e6}}, run);
  }

  Status AskWithLittleMemory(const std::string& state) {
    for (MeasuredRelay& relay : relays_)
      if (Status s = LimitMemory(relay, state); !s.ok()) return relay.Explain(s);
    return AskAll(shapes_, state, [&](MeasuredRelay& relay, const ReqShape& shape, int round) {
      return relay.has_memory_target() ? Measure(relay, shape, RequestsOf(shape), state, round) : Status();
    });
  }

  Status LimitMemory(MeasuredRelay& relay, const std::string& state) {
    if (!relay.has_memory_target()) {
      Say(relay.name(), std::string("left out: ") + state + "; its command has no " + MeasuredRelay::kMemoryPlace);
      return Status();
    }
    const auto disk = DiskBytes(relay.db());
    if (!disk.ok()) return disk.status();
    const double mebibytes = static_cast<double>(disk.value()) / (1 << 20);
    const uint64_t memory_mb = std::max(kLeastMemoryMb, static_cast<uint64_t>(mebibytes / 4));
    if (Status s = relay.Stop(); !s.ok()) return s;
    if (Status s = Start(relay, state, memory_mb); !s.ok()) return s;
    return AddResults(relay, state, {{"database : memory target", "", mebibytes / static_cast<double>(memory_mb)}});
  }

  Status Subscribe(MeasuredRelay& relay) {
    const auto figures = weir::Measure(MakeFanOut().get(), relay.target(), plan_);
    return figures.ok() ? AddResults(relay, "live", figures.value()) : figures.status();
  }

  void Say(const std::string& who, const std::string& what) const {
    std::fprintf(stderr, "[%d/%d] %s: %s\n", repetition_, options_.repetitions, who.c_str(), what.c_str());
  }

  const LivedInOptions& options_;
  const LoadPlan& plan_;
  int repetition_ = 1;
  std::vector<ReqShape> shapes_;
  std::vector<ReqShape> each_once_;  // the same shapes, with every filter once
  fs::path file_;                    // the events to import
  std::unique_ptr<TemporaryDirectory> scratch_;
  std::vector<MeasuredRelay> relays_;  // stands behind scratch_, because a relay ends before its directory goes
  Results results_{options_.results, options_.command_line};
};

}  // namespace

Status RunLivedIn(const LivedInOptions& options, const LoadPlan& plan) {
  LivedIn lived_in(options, plan);
  const Status status = lived_in.RunAll();
  const Results& results = lived_in.results();
  const Status written = results.Finish("Fresh and lived in, " + std::to_string(options.repetitions) + " × " +
                                            std::to_string(options.rounds) + " × scale " + FormatNumber(plan.scale),
                                        ShapeTables(results.rows()) + "\n" + ResultTables(results.rows()));
  return status.ok() ? written : status;
}

}  // namespace weir
