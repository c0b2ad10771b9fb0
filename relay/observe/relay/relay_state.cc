#include "relay/observe/relay/relay_state.h"

#include <string_view>
#include <utility>

#include "config/text/in_words.h"
#include "config/text/readable.h"

namespace weir {
namespace {

std::string Two(double number) { return Fixed(number, 2); }
std::string Rate(double bytes_per_second) { return ReadableBytes(AsCount(bytes_per_second)) + "/s"; }
std::string Signal(std::string_view name, double level) { return std::string(name) + " at " + Two(level); }

std::string TextOf(const LimiterView::Write& w) {
  if (w.open && w.reason == HeldLimits::kReason) return "open; the sensor is lost, setpoint " + Two(w.setpoint);
  if (w.open) return "open; highest is " + Signal(w.reason, w.level) + ", setpoint " + Two(w.setpoint);
  return "held to " + Rate(w.bytes_per_second) + " by " + Signal(w.reason, w.level) + ", setpoint " + Two(w.setpoint) +
         ", drain " + Rate(w.drain_bytes_per_second);
}

std::string TextOf(const PidState& s) { return Two(s.p) + " " + Two(s.i) + " " + Two(s.d); }

std::string TextOf(const GateStats& s) {
  uint64_t admitted = 0;
  for (const Flow& flow : s.admitted) admitted += flow.operations;
  std::string text = std::to_string(s.waiting) + " wait, " + ShortNumber(admitted) + " admitted, " +
                     ShortNumber(s.delayed) + " waited " + InWords(s.waited) + " together";
  for (const auto& [reason, count] : s.refused)
    if (count > 0) text.append(", ").append(ShortNumber(count)).append(" refused (").append(reason).append(")");
  return text;
}

void AddThrottle(const AdaptiveLimiter& limiter, const LoadMonitor* monitor, StatePage& page) {
  const LimiterView view = limiter.View();
  page.Line("interactive", TextOf(view[WorkClass::kInteractive]));
  page.Line("bulk", TextOf(view[WorkClass::kBulk]));
  page.Line("reads", view.scans_at_once > 0 ? std::to_string(view.scans_at_once) + " scans at once, for " +
                                                  Signal(view.read_reason, view.read_level)
                                            : "open; level " + Two(view.read_level));
  page.Line("emergency", view.emergency_holds ? "yes: bulk work is held, scans are refused"
                         : view.emergency     ? "yes: bulk work runs at its lowest rate, scans run one at a time"
                                              : "no");
  std::string signals;
  for (const auto& s : view.sample.signals())
    signals.append(signals.empty() ? "" : ", ").append(s.name).append(" ").append(Two(s.level));
  page.Line("signals", signals.empty() ? "none yet" : signals);
  if (monitor != nullptr) {
    const Status error = monitor->LastError();
    page.Line("sensor", (view.sensor_lost ? "lost" : "works") + (error.ok() ? std::string() : ": " + error.message()));
  }
  page.Line("p i d", "write " + TextOf(limiter.ControllerState(Operation::kWrite)) + ", bulk " +
                         TextOf(limiter.ControllerState(Operation::kWrite, WorkClass::kBulk)) + ", read " +
                         TextOf(limiter.ControllerState(Operation::kRead)));
  page.Line("write gate", TextOf(limiter.Stats(Operation::kWrite)));
  const GateStats reads = limiter.Stats(Operation::kRead);
  page.Line("scan gate", TextOf(reads) + ", " + std::to_string(reads.running) + " run");
  page.Line("engine", "braked by itself " + std::to_string(view.sample.escapes) + " times since it was opened");
}

void AddRocksDb(const RocksDbDetails& d, StatePage& page) {
  page.Line("memory", ReadableBytes(d.memory.bytes()) + " of " + ReadableBytes(d.memory_target_bytes) +
                          ": block cache " + ReadableBytes(d.block_cache_bytes) + " of " +
                          ReadableBytes(d.block_cache_limit_bytes) + " (pinned " + ReadableBytes(d.pinned_bytes) +
                          "), memtables " + ReadableBytes(d.memtable_bytes) + ", table readers " +
                          ReadableBytes(d.table_reader_bytes) + ", own " + ReadableBytes(d.own_bytes) +
                          "; kept by the allocator " + ReadableBytes(d.memory.kept_bytes()));
  page.Line("RocksDB",
            std::to_string(d.l0_files) + " files in L0, " + std::to_string(d.immutable_memtables) +
                " memtables wait, " + ReadableBytes(d.debt_bytes) + " wait for compaction, score " + Two(d.score) +
                (d.writes_stopped ? ", writes STOPPED" : "") +
                (d.delayed_bytes_per_second > 0 ? ", writes delayed to " + Rate(d.delayed_bytes_per_second) : ""));
  page.Line("", "drain " + Rate(d.drain_bytes_per_second) + ", flush " + Rate(d.flush_bytes_per_second) +
                    ", background " + Rate(d.background_bytes_per_second) + ", slowdowns " +
                    std::to_string(d.slowdowns) + ", stops " + std::to_string(d.stops));
}

void AddPostgres(const PostgresDetails& d, StatePage& page) {
  page.Line("memory", ReadableBytes(d.memory.bytes()) + ", of it own " + ReadableBytes(d.own_bytes));
  if (d.server_version == 0) return;  // the server has not answered yet
  page.Line("PostgreSQL", std::to_string(d.server_version / 10000) + ": " + ReadableBytes(d.wal_bytes) + " of log of " +
                              ReadableBytes(d.max_wal_bytes) + ", " + std::to_string(d.standbys) + " standbys, " +
                              ReadableBytes(d.replica_lag_bytes) + " behind, " + std::to_string(d.lock_waits) +
                              " sessions wait for locks, " + std::to_string(d.standby_waits) + " for a standby");
}

void AddReaders(const PoolStats& s, StatePage& page) {
  page.Line("readers", std::to_string(s.allowed) + " of " + std::to_string(s.most) +
                           " connections read from PostgreSQL at once, " + std::to_string(s.open) + " open, " +
                           std::to_string(s.used) + " in use, " + std::to_string(s.waiting) + " reads wait; " +
                           ShortNumber(s.reads) + " reads, " + ShortNumber(s.failed) + " failed");
}

void AddSiblings(const SiblingsStats& s, StatePage& page) {
  page.Line("siblings", std::string(s.read.ok() ? "read" : "CANNOT be read") + ", " + ShortNumber(s.events) +
                            " events of theirs delivered; bus " + (s.bus.is_up ? "up" : "DOWN") + ", sent " +
                            ShortNumber(s.bus.sent) + ", received " + ShortNumber(s.bus.received) + ", lost " +
                            ShortNumber(s.bus.lost + s.bus.too_large));
}

void AddCommits(const GroupCommitStats& s, StatePage& page) {
  page.Line("commits", ShortNumber(s.writes) + " writes of " + ShortNumber(s.events) + " events, " +
                           ShortNumber(s.failed) + " events failed, " + std::to_string(s.waiting) + " wait; bulk " +
                           ShortNumber(s.bulk_writes) + " of " + ShortNumber(s.bulk_events) + ", " +
                           ShortNumber(s.failed_bulk_writes) + " failed, " + std::to_string(s.bulk_waiting) + " wait");
}

void AddQueues(const MetricSources& sources, StatePage& page) {
  if (sources.subscriptions && sources.work_waiting) {
    page.Line("queues", std::to_string(sources.subscriptions()) + " subscriptions, " +
                            std::to_string(sources.work_waiting()) + " tasks wait for a worker");
  }
  if (sources.ledger != nullptr) {
    page.Line("clients", "make the relay hold " + ReadableBytes(sources.ledger->bytes()) +
                             ", the heaviest address: " + ReadableBytes(sources.ledger->heaviest_bytes()));
  }
}

}  // namespace

std::string RelayStatePage(const StateOccasion& occasion, const MetricSources& sources) {
  StatePage page(occasion);
  if (sources.limiter != nullptr) AddThrottle(*sources.limiter, sources.monitor, page);
  if (sources.rocksdb != nullptr) AddRocksDb(sources.rocksdb->Details(), page);
  if (sources.postgres != nullptr) AddPostgres(sources.postgres->Details(), page);
  if (sources.postgres_readers) AddReaders(sources.postgres_readers(), page);
  if (sources.siblings != nullptr) AddSiblings(sources.siblings->Stats(), page);
  if (sources.store) {
    const StoreSizes sizes = sources.store();
    page.Line("store", ShortNumber(sizes.events) + " events, " + ReadableBytes(sizes.disk_bytes) + " on disk");
  }
  if (sources.group_commit) AddCommits(sources.group_commit(), page);
  if (sources.last_failure) page.Line("last failure", sources.last_failure());
  if (sources.service.server) page.AddServer(sources.service.server());
  AddQueues(sources, page);
  if (sources.service.plugins) page.AddPlugins(sources.service.plugins);
  return std::move(page).Text();
}

}  // namespace weir
