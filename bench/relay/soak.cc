// Puts a day's events on a relay in an hour: clients write, read, subscribe, come and go at a steady pace. Every few
// seconds a row has their latencies and the size of the server.
#include <chrono>
#include <cmath>
#include <fstream>

#include "bench/relay/gauges.h"
#include "bench/relay/load_scenario.h"
#include "bench/relay/publisher.h"
#include "bench/relay/readers.h"
#include "bench/relay/server_usage.h"
#include "bench/relay/shapes.h"
#include "bench/relay/subscriber.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

// One client after the other connects, asks a few REQs and leaves.
class Visitors {
 public:
  Visitors(const Endpoint& endpoint, const EventSet& stored, uint64_t seed)
      : endpoint_(endpoint), filters_(InteractiveFilters(stored, 250, seed)) {}

  // No visitor connects before the last one has its answers.
  Status Next(Loop* loop) {
    if (visitor_ && !visitor_->idle()) return Status();
    if (visitor_) Leave();
    constexpr size_t kQuestions = 4;
    std::vector<std::string> questions;
    for (size_t i = 0; i < kQuestions; ++i) questions.push_back(filters_[asked_++ % filters_.size()]);
    visitor_ = std::make_unique<Reader>(std::move(questions));
    if (Status s = visitor_->Connect(endpoint_, loop); !s.ok()) return s;
    visitor_->Start(Duration::zero(), Duration::zero(), kQuestions);
    ++came_;
    return Status();
  }
  bool idle() const { return !visitor_ || visitor_->idle(); }
  size_t came() const { return came_; }

 private:
  void Leave() {
    visitor_->Leave();
    visitor_.reset();
  }

  const Endpoint endpoint_;
  const std::vector<std::string> filters_;
  std::unique_ptr<Reader> visitor_;
  size_t asked_ = 0;
  size_t came_ = 0;
};

class Soak final : public LoadScenario {
 public:
  std::string_view name() const override { return "soak"; }
  std::string_view meaning() const override {
    return "writers, readers, subscribers and visitors at a steady pace for long: latency and growth over time";
  }

  void AddOptions(CommandLine line) override {
    line.Add("--seconds", &seconds_, "how long").ShowDefault().Within(1.0, 864'000.0);
    line.Add("--rate", &rate_, "events a second of the writers").ShowDefault().Within(0.1, 100'000.0);
    line.Add("--live-rate", &live_rate_, "events a second that subscribers wait for").ShowDefault().Within(0.1, 1000.0);
    line.Add("--subscribers", &subscribers_, "connections").ShowDefault().Within(1, 10'000);
    line.Add("--readers", &readers_, "readers").ShowDefault().Within(1, 1000);
    line.Add("--interval-ms", &interval_ms_, "of a reader's REQs, and between visitors")
        .ShowDefault()
        .Within(1, 60'000);
    line.Add("--row-seconds", &row_seconds_, "between rows").ShowDefault().Within(0.1, 3600.0);
    line.Add("--rows", &rows_, "CSV file for the rows").ShowDefault();
    line.Add("--gauge", &gauges_, "a metric of the relay's /metrics to be noted as well, once for each").OneWordEach();
  }

  Result<LoadFigures> Run(const LoadTarget& target, const LoadPlan& plan) override {
    const double seconds = plan.Scaled(seconds_);
    const auto stored = plan.Preloaded();
    if (!stored.ok()) return stored.status();
    EventRecipe recipe = plan.Recipe("soak", static_cast<size_t>(rate_ * seconds) + 1);
    recipe.lived_in = true;
    const auto events = EventSet::Get(recipe, plan.cache);
    if (!events.ok()) return events.status();
    const auto live_events = plan.Events("soak-live", static_cast<size_t>(live_rate_ * seconds) + 1, true);
    if (!live_events.ok()) return live_events.status();

    Clients clients(target.endpoint, events.value(), live_events.value(), stored.value(), plan.seed);
    Loop loop(plan.patience + FromSeconds(seconds));
    if (Status s = Connect(target, stored.value(), plan.seed, &clients, &loop); !s.ok()) return s;
    if (Status s = Watch(target, seconds, &clients, &loop); !s.ok()) return s;
    return Finish(&clients, &loop);
  }

 private:
  struct Clients {
    Clients(const Endpoint& endpoint, const EventSet& events, const EventSet& live_events, const EventSet& stored,
            uint64_t seed)
        : writers(events), quiet(live_events), live(live_events, quiet), visitors(endpoint, stored, seed + 1) {}

    Publisher writers;
    Publisher quiet;
    Subscribers live;
    Readers readers;
    Visitors visitors;
    LatencyHistogram reads, writes, deliveries;  // over all rows
  };

  Status Connect(const LoadTarget& target, const EventSet& stored, uint64_t seed, Clients* clients, Loop* loop) const {
    constexpr size_t kWriters = 4;
    if (Status s = clients->live.Connect(target.endpoint, subscribers_, loop); !s.ok()) return s;
    if (Status s = clients->quiet.Connect(target.endpoint, 1, loop); !s.ok()) return s;
    if (Status s = clients->writers.Connect(target.endpoint, kWriters, loop); !s.ok()) return s;
    clients->writers.StartPaced(rate_, loop);
    clients->quiet.StartPaced(live_rate_, loop);
    return clients->readers.Start(target.endpoint, stored, readers_, Interval(), seed, loop);
  }

  Status Watch(const LoadTarget& target, double seconds, Clients* clients, Loop* loop) const {
    std::ofstream rows(rows_, std::ios::trunc);
    rows << "seconds,events,req_p50_ms,req_p99_ms,ok_p50_ms,ok_p99_ms,live_p50_ms,live_p99_ms,cores,resident_mb,"
            "anonymous_mb,disk_mb,files";
    for (const std::string& gauge : gauges_) rows << ',' << '"' << gauge << '"';
    rows << '\n';
    const TimePoint begin = Loop::Now();
    Duration processor{};
    if (Status s = AddProcessor(target, &processor); !s.ok()) return s;
    TimePoint before = begin;
    for (TimePoint next_row = begin + FromSeconds(row_seconds_); ToSeconds(Loop::Now() - begin) < seconds;) {
      if (Status s = loop->RunFor(Interval()); !s.ok()) return s;
      if (Status s = clients->visitors.Next(loop); !s.ok()) return s;
      if (Loop::Now() < next_row) continue;
      next_row += FromSeconds(row_seconds_);
      const TimePoint now = Loop::Now();
      const Duration processor_before = processor;
      if (Status s = AddProcessor(target, &processor); !s.ok()) return s;
      const double cores = ToSeconds(processor - processor_before) / ToSeconds(now - before);
      before = now;
      if (Status s = WriteRow(target, ToSeconds(now - begin), cores, clients, &rows); !s.ok()) return s;
    }
    return rows.flush().good() ? Status() : Status::Error("cannot write " + rows_);
  }

  Status AddProcessor(const LoadTarget& target, Duration* processor) const {
    if (target.pid <= 0) return Status();
    const auto time = ProcessorTime(target.pid);
    if (!time.ok()) return time.status();
    *processor = time.value();
    return Status();
  }

  Status WriteRow(const LoadTarget& target, double seconds, double cores, Clients* clients, std::ostream* rows) const {
    *rows << seconds << ',' << clients->writers.answered() + clients->quiet.answered();
    Append(&clients->readers, &clients->reads, rows);
    Append(&clients->writers, &clients->writes, rows);
    Append(&clients->live, &clients->deliveries, rows);
    ServerMemory memory;
    if (target.pid > 0) {
      const auto read = ReadMemory(target.pid);
      if (!read.ok()) return read.status();
      memory = read.value();
    }
    const auto disk = DiskBytes(target.db);
    if (!disk.ok()) return disk.status();
    *rows << ',' << cores << ',' << memory.resident_mb << ',' << memory.anonymous_mb << ','
          << static_cast<double>(disk.value()) / 1e6 << ',' << FilesIn(target.db);
    const auto gauges = ReadGauges(target.endpoint, gauges_);
    if (!gauges.ok()) return gauges.status();
    for (const double gauge : gauges.value()) *rows << ',' << gauge;
    *rows << std::endl;  // a soak that is cut off has its rows
    return Status();
  }

  template <typename Felt>
  static void Append(Felt* felt, LatencyHistogram* all, std::ostream* rows) {
    LatencyHistogram of_row;
    felt->MoveLatencyTo(&of_row);
    *rows << ',' << Milliseconds(of_row.Quantile(0.5)) << ',' << Milliseconds(of_row.Quantile(0.99));
    all->Merge(of_row);
  }

  static size_t FilesIn(const fs::path& directory) {
    std::error_code error;  // files come and go while the server works
    size_t files = 0;
    for (auto at = fs::recursive_directory_iterator(directory, error); !error && at != fs::end(at); at.increment(error))
      ++files;
    return files;
  }

  Result<LoadFigures> Finish(Clients* clients, Loop* loop) const {
    clients->writers.Stop();
    clients->quiet.Stop();
    clients->readers.Stop();
    if (Status s = clients->writers.AwaitAnswers(loop); !s.ok()) return s;
    if (Status s = clients->quiet.AwaitAnswers(loop); !s.ok()) return s;
    const auto idle = [&] { return clients->readers.idle() && clients->visitors.idle(); };
    if (Status s = loop->Run(idle, "the last EOSE"); !s.ok()) return s;
    if (Status s = clients->live.AwaitDeliveries(loop); !s.ok()) return s;
    LoadFigures figures;
    AddLatency("REQ", clients->reads, &figures);
    AddLatency("OK", clients->writes, &figures);
    AddLatency("live", clients->deliveries, &figures);
    figures.push_back({"events", "", static_cast<double>(clients->writers.answered())});
    figures.push_back({"visitors", "", static_cast<double>(clients->visitors.came())});
    figures.push_back({"REQs closed", "", static_cast<double>(clients->readers.closed())});
    figures.push_back({"live lost", "", clients->live.lost()});
    return figures;
  }

  Duration Interval() const { return std::chrono::milliseconds(interval_ms_); }

  double seconds_ = 3600;
  double rate_ = 50;
  double live_rate_ = 5;
  size_t subscribers_ = 50;
  size_t readers_ = 4;
  int interval_ms_ = 200;
  double row_seconds_ = 10;
  std::string rows_ = "soak.csv";
  std::vector<std::string> gauges_;
};

}  // namespace

std::unique_ptr<LoadScenario> MakeSoak() { return std::make_unique<Soak>(); }

}  // namespace weir
