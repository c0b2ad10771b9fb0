#include "monitors/neo4j/neo4j_monitor.h"

#include <simdjson.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>

#include "config/mutex.h"
#include "config/settings.h"
#include "monitors/memory_only_monitor.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds kShortestInterval{500};
constexpr Duration kPauseAfterLoss = std::chrono::seconds(1);
constexpr int kSlowTimeouts = 5;          // time-outs without an answer, after which the server is lost
constexpr double kUsualBytes = 1024;      // assumed size of a transaction until one has ended
constexpr double kReadsFrom = 25.0 / 15;  // the level of transactions above which the advice is to throttle reads too
constexpr double kRemembered = 0.95;      // share kept from sample to sample: half of it is left after seven seconds

constexpr const char* kTransactions = "SHOW TRANSACTIONS YIELD transactionId RETURN count(*)";
// Each garbage collector of the server has one pool of old objects, under one of these names.
constexpr const char* kOldGeneration =
    "CALL dbms.queryJmx('java.lang:type=MemoryPool,*') YIELD name, attributes "
    "WITH attributes.CollectionUsage.value.properties AS heap, name "
    "WHERE heap IS NOT NULL AND (name CONTAINS 'Old Gen' OR name CONTAINS 'Tenured' OR name CONTAINS 'ZGC' OR "
    "name CONTAINS 'ZHeap' OR name CONTAINS 'Shenandoah') "
    "RETURN heap.used, heap.max ORDER BY heap.max DESC LIMIT 1";

MonitorSettings WithInterval(MonitorSettings settings) {
  settings.sample_interval = std::max(settings.sample_interval, kShortestInterval);
  return settings;
}

// Returns a figure of the first row of one of the results, or 0 if there is none.
uint64_t Figure(const simdjson::dom::element& root, size_t result, size_t column) {
  int64_t figure = 0;
  if (root["results"].at(result)["data"].at(0)["row"].at(column).get(figure) != simdjson::SUCCESS) return 0;
  return static_cast<uint64_t>(std::max<int64_t>(0, figure));
}

double Ratio(Duration a, Duration b) {
  return static_cast<double>(a.count()) / static_cast<double>(std::max<int64_t>(1, b.count()));
}

}  // namespace

void Declare(SettingTable& table, Neo4jMonitorSettings& s) {
  table.Add("RATE_LIMIT_NEO4J_TXN_THRESHOLD", &s.transaction_threshold, {.min = 1, .max = 1e6, .unit = "transactions"},
            "open transactions at which the signal transactions is 1.0");
  table.Add("RATE_LIMIT_NEO4J_LATENCY_THRESHOLD_MS", &s.latency_threshold, {.min = 1, .max = 600'000},
            "latency of a Neo4j transaction at which the signals latency and round_trip are 1.0");
  table.Add("RATE_LIMIT_NEO4J_TIMEOUT_MS", &s.timeout, {.min = 10, .max = 60'000},
            "Neo4j counts as slow if it does not answer within this time, and as lost after five times as long");
}

class Neo4jProbe final : public LoadProbe {
 public:
  Neo4jProbe(Neo4jAddress address, uint64_t target_bytes, const Neo4jMonitorSettings& settings,
             const MemoryFiles& files)
      : settings_(settings),
        target_bytes_(target_bytes),
        session_(std::move(address)),
        memory_(files),
        own_(settings.own_budget_mb, target_bytes) {}

  OwnBytes& own() { return own_; }

  void Began() { ++in_flight_; }
  // The latency of a failed transaction does not show how long a transaction takes.
  void Ended(uint64_t bytes, Duration latency, bool failed) {
    --in_flight_;
    if (failed) return;
    const MutexLock lock(finished_mutex_);
    ++finished_.count;
    finished_.bytes += static_cast<double>(bytes);
    finished_.square_bytes += static_cast<double>(bytes) * static_cast<double>(bytes);
    finished_.time += latency;
  }

  Status ProbeProcess(LoadSample* sample) override {
    const Result<MemoryUse> use = memory_.ReadUse();
    if (!use.ok()) return use.status();
    const Duration interval = WithInterval(settings_.monitor).sample_interval;
    sample->Add(own_.Level(interval));
    AddMemory(use.value(), target_bytes_, interval, sample, own_.waiting_bytes());
    const MutexLock lock(details_mutex_);
    details_.own_bytes = own_.bytes();
    details_.memory = use.value();
    return {};
  }

  Status Probe(TimePoint now, LoadSample* sample) override {
    if (!lost_.ok() && now < try_again_) return lost_;
    Neo4jDetails details = Details();
    details.in_flight = in_flight_;
    details.latency = {};
    lost_ = AskFigures(now, &details);
    TakeEnded(&details);
    if (!lost_.ok()) {
      try_again_ = now + kPauseAfterLoss;
      return lost_;
    }
    AddSignals(details, sample);
    const MutexLock lock(details_mutex_);
    details_ = details;
    return {};
  }

  bool AdvisesToThrottleReads(const LoadSample& sample) const override {
    return sample.LevelOf("transactions") > kReadsFrom || sample.LevelOf("latency") > 1;
  }

  Neo4jDetails Details() const {
    const MutexLock lock(details_mutex_);
    return details_;
  }

 private:
  struct Finished {
    uint64_t count = 0;
    double bytes = 0;
    double square_bytes = 0;
    Duration time{};
  };

  // A server that answered a moment ago and does not answer now is slow. This is a measurement, not an error. The
  // number of transactions is then that of the program alone.
  Status AskFigures(TimePoint now, Neo4jDetails* details) {
    const TimePoint begun = Clock::System().Now();
    const Result<std::string> answer = session_.Commit({{kTransactions}, {kOldGeneration}}, settings_.timeout);
    details->round_trip = Clock::System().Now() - begun;
    if (!answer.ok()) {
      details->transactions = 0;
      const bool is_slow = answered_ && now - *answered_ <= kSlowTimeouts * settings_.timeout;
      return is_slow && details->round_trip >= settings_.timeout ? Status() : answer.status();
    }
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    if (parser.parse(answer.value()).get(root) != simdjson::SUCCESS || Figure(root, 0, 0) == 0)
      return Status::Error("Neo4j: its figures cannot be read");
    details->transactions = Figure(root, 0, 0) - 1;
    details->heap_bytes = Figure(root, 1, 0);
    details->max_heap_bytes = Figure(root, 1, 1);
    answered_ = now;
    return {};
  }

  // The latency is the mean of the transactions that ended since the last sample but one, so each shows in two samples.
  void TakeEnded(Neo4jDetails* details) {
    Finished now;
    {
      const MutexLock lock(finished_mutex_);
      now = std::exchange(finished_, {});
    }
    const uint64_t count = now.count + before_.count;
    if (count > 0) details->latency = (now.time + before_.time) / static_cast<int64_t>(count);
    bytes_ = kRemembered * bytes_ + now.bytes;
    square_bytes_ = kRemembered * square_bytes_ + now.square_bytes;
    before_ = now;
  }

  void AddSignals(const Neo4jDetails& details, LoadSample* sample) const {
    const Duration interval = WithInterval(settings_.monitor).sample_interval;
    const auto threshold = static_cast<double>(std::max<uint64_t>(1, settings_.transaction_threshold));
    // A threshold's number of transactions raises each of these levels by one. They count with the mean size weighted
    // by bytes. The plain mean is that of the many small ones; with it a single large transaction filled the level, and
    // bulk work got nothing at all.
    const double usual_bytes = bytes_ >= 1 ? square_bytes_ / bytes_ : kUsualBytes;
    // Between two samples many transactions come and go: at 5 ms each, a hundred one after the other.
    const Duration latency = details.latency > Duration{} ? details.latency : details.round_trip;
    const double rounds = std::max(1.0, Ratio(interval, latency));
    const double bytes_per_level = threshold * usual_bytes * rounds;
    const auto add = [&](std::string_view name, double level) {
      sample->Add({.name = name,
                   .level = level,
                   .bytes_per_level = bytes_per_level,
                   .dead_time = 2 * interval,
                   .acts_on_reads = true});
    };
    add("transactions", static_cast<double>(std::max(details.transactions, details.in_flight)) / threshold);
    add("latency", Ratio(details.latency, settings_.latency_threshold));
    add("round_trip", Ratio(details.round_trip, settings_.latency_threshold));
    sample->Add({.name = "heap",
                 .level = details.max_heap_bytes > 0
                              ? static_cast<double>(details.heap_bytes) / static_cast<double>(details.max_heap_bytes)
                              : 0});
  }

  const Neo4jMonitorSettings settings_;
  const uint64_t target_bytes_;
  Neo4jSession session_;
  MemoryProbe memory_;
  OwnBytes own_;
  Status lost_;
  TimePoint try_again_{};
  std::optional<TimePoint> answered_;  // time of the last answer
  Finished before_;
  double bytes_ = 0;  // sums of the sizes of ended transactions, and of their squares; older ones count less
  double square_bytes_ = 0;

  std::atomic<uint64_t> in_flight_ = 0;
  Mutex finished_mutex_;
  Finished finished_ WEIR_GUARDED_BY(finished_mutex_);  // since the last sample
  mutable Mutex details_mutex_;
  Neo4jDetails details_ WEIR_GUARDED_BY(details_mutex_);
};

Neo4jMonitor::Neo4jMonitor(Neo4jAddress address, uint64_t target_bytes, const Neo4jMonitorSettings& settings,
                           const Clock& clock, const MemoryFiles& files)
    : LoadMonitor(std::make_unique<Neo4jProbe>(std::move(address), target_bytes, settings, files),
                  WithInterval(settings.monitor), clock),
      neo4j_(static_cast<Neo4jProbe&>(probe())) {}

Neo4jMonitor::Transaction Neo4jMonitor::Begin(uint64_t bytes) {
  neo4j_.Began();
  return {*this, bytes, clock().Now()};
}

void Neo4jMonitor::End(const Transaction& transaction) {
  const Duration latency = clock().Now() - transaction.begun_;
  if (!transaction.failed_) RecordWriteLatency(latency);
  neo4j_.Ended(transaction.bytes_, latency, transaction.failed_);
}

void Neo4jMonitor::AddOwnBytes(int64_t bytes, OwnUse use) { neo4j_.own().Add(bytes, use); }
uint64_t Neo4jMonitor::own_budget_bytes() const { return neo4j_.own().budget_bytes(); }

Neo4jDetails Neo4jMonitor::Details() const { return neo4j_.Details(); }

}  // namespace weir
