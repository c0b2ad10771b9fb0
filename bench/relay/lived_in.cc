#include "bench/relay/lived_in.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "bench/relay/launch.h"
#include "bench/relay/publisher.h"
#include "bench/relay/report.h"
#include "bench/relay/shape_meter.h"
#include "config/text/parse.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

class LivedIn {
 public:
  LivedIn(const LivedInOptions& options, const LoadPlan& plan) : options_(options), plan_(plan) {}

  Status RunAll() {
    const auto imported = plan_.Preloaded();
    if (!imported.ok()) return imported.status();
    shapes_ = ReqShapes(imported.value(), plan_.Scaled(options_.requests), plan_.seed);
    file_ = EventSet::FileOf(plan_.Recipe("ingest", imported.value().size()), plan_.cache);
    EventRecipe recipe = plan_.Recipe("lived-in", plan_.Scaled(options_.published));
    recipe.lived_in = true;
    const auto published = EventSet::Get(recipe, plan_.cache);
    if (!published.ok()) return published.status();
    for (int repetition = 1; repetition <= options_.repetitions; ++repetition)
      if (Status s = RunOnce(published.value(), repetition); !s.ok()) return s;
    return Status();
  }

  Results& results() { return results_; }

 private:
  struct Contestant {
    Contender server;
    fs::path dir;
    RunningRelay relay;
  };

  Status RunOnce(const EventSet& published, int repetition) {
    auto scratch = TemporaryDirectory::Make(options_.scratch);
    if (!scratch.ok()) return scratch.status();
    std::vector<Contestant> contestants;
    for (const size_t i : OrderOf(options_.servers.size(), repetition)) {
      const Contender& server = options_.servers[i];
      contestants.push_back({.server = server, .dir = scratch.value()->path() / server.name, .relay = {}});
      Status s = Import(contestants.back(), repetition);
      if (s.ok()) s = Start(&contestants.back());
      if (!s.ok()) return Of(contestants.back(), s);
    }
    if (Status s = Ask(&contestants, "fresh", repetition); !s.ok()) return s;
    for (Contestant& contestant : contestants)
      if (Status s = Publish(&contestant, published, repetition); !s.ok()) return Of(contestant, s);
    if (Status s = Ask(&contestants, "lived-in", repetition); !s.ok()) return s;
    for (Contestant& contestant : contestants)
      if (Status s = contestant.relay.process->Stop(); !s.ok()) return Of(contestant, s);
    return Status();
  }

  static Status Of(const Contestant& contestant, const Status& s) {
    return Status::Error(contestant.server.name + ": " + s.message());
  }

  static Status Start(Contestant* contestant) {
    auto relay = Launch(contestant->server.command, contestant->dir, contestant->dir / "db", std::nullopt);
    if (!relay.ok()) return relay.status();
    contestant->relay = std::move(relay).value();
    return Status();
  }

  Status Import(const Contestant& contestant, int repetition) {
    const auto import = std::find_if(options_.imports.begin(), options_.imports.end(),
                                     [&](const Contender& c) { return c.name == contestant.server.name; });
    if (import == options_.imports.end()) return Status::Error("no --import has its name");
    const fs::path db = contestant.dir / "db";
    std::error_code error;
    if (fs::create_directories(db, error); error)
      return Status::Error("cannot make " + db.string() + ": " + error.message());
    Say(repetition, contestant.server.name, "import");
    const auto process = Process::Start(
        FillIn(ExpandCommand(import->command, 0, contestant.dir, db), {{"{file}", fs::absolute(file_).string()}}),
        contestant.dir / "import.log");
    if (!process.ok()) return process.status();
    if (Status s = process.value()->Wait(); !s.ok()) return s;
    const auto cost = process.value()->Cost();
    if (!cost.ok()) return cost.status();
    return results_.Add(contestant.server.name, repetition, "import", {{"seconds", "s", ToSeconds(cost.value().wall)}});
  }

  // Publishes the clients' events, and restarts the relay.
  Status Publish(Contestant* contestant, const EventSet& events, int repetition) {
    constexpr size_t kConnections = 8;
    constexpr size_t kWindow = 50;
    Say(repetition, contestant->server.name, "publish");
    Publisher publisher(events);
    Loop loop(plan_.patience);
    if (Status s = publisher.Connect(contestant->relay.target.endpoint, kConnections, &loop); !s.ok()) return s;
    publisher.StartClosedLoop(kWindow);
    if (Status s = publisher.AwaitAnswers(&loop); !s.ok()) return WithFate(s, &contestant->relay);
    LoadFigures figures;
    AddPublished(publisher, &figures);
    if (Status s = results_.Add(contestant->server.name, repetition, "publish", figures); !s.ok()) return s;
    if (Status s = contestant->relay.process->Stop(); !s.ok()) return s;
    return Start(contestant);
  }

  Status Ask(std::vector<Contestant>* contestants, const std::string& state, int repetition) {
    Say(repetition, "all", "ask, " + state);
    for (int round = 1; round <= options_.rounds; ++round)
      for (const ReqShape& shape : shapes_)
        for (const size_t i : OrderOf(contestants->size(), round)) {
          Contestant& contestant = (*contestants)[i];
          const size_t requests = plan_.Scaled(shape.heavy ? options_.requests / 10 + 1 : options_.requests);
          const auto figures = MeasureShape(contestant.relay.target, plan_, shape, requests);
          if (!figures.ok()) return Of(contestant, WithFate(figures.status(), &contestant.relay));
          const int run = (repetition - 1) * options_.rounds + round;
          if (Status s = results_.Add(contestant.server.name, run, state, figures.value()); !s.ok()) return s;
        }
    return Status();
  }

  void Say(int repetition, const std::string& who, const std::string& what) const {
    std::fprintf(stderr, "[%d/%d] %s: %s\n", repetition, options_.repetitions, who.c_str(), what.c_str());
  }

  const LivedInOptions& options_;
  const LoadPlan& plan_;
  std::vector<ReqShape> shapes_;
  fs::path file_;  // the events to import
  Results results_{options_.results, options_.command_line};
};

}  // namespace

Status RunLivedIn(const LivedInOptions& options, const LoadPlan& plan) {
  LivedIn lived_in(options, plan);
  const Status status = lived_in.RunAll();
  const Results& results = lived_in.results();
  const Status written = results.Finish("Fresh and lived in, " + std::to_string(options.repetitions) + " × " +
                                            std::to_string(options.rounds) + " × scale " + FormatNumber(plan.scale),
                                        ResultTables(results.rows()));
  return status.ok() ? written : status;
}

}  // namespace weir
