// Adds the figures that objects of other folders have. It reads them for each request.
#include <sys/statvfs.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "relay/observe/relay/relay_metrics.h"

namespace weir {
namespace {

constexpr std::array<std::pair<std::string_view, WorkClass>, kWorkClasses> kClasses = {
    {{"interactive", WorkClass::kInteractive}, {"bulk", WorkClass::kBulk}}};
constexpr std::array<std::pair<std::string_view, Operation>, 2> kOperations = {
    {{"read", Operation::kRead}, {"write", Operation::kWrite}}};

double Flag(bool value) { return value ? 1 : 0; }

void AppendStore(const StoreSizes& s, MetricFamilies& families) {
  families.Gauge("weir_store_events", "Events in the store, up to 10 s ago").Add(s.events);
  families.Gauge("weir_store_disk_bytes", "Bytes that the store takes on disk, up to 10 s ago").Add(s.disk_bytes);
  if (s.unsearched) {
    families.Gauge("weir_search_unbuilt_events", "Older events that a search does not find yet, at most")
        .Add(*s.unsearched);
    families.Gauge("weir_search_disk_bytes", "Bytes that the index of words takes on disk, up to 10 s ago")
        .Add(s.search_bytes);
  }
  families.Counter("weir_store_damaged_reads_total", "Reads, except those of queries, that found a damaged record")
      .Add(s.damaged_reads);
}

// Makes one system call. The call blocks if the file system hangs, but then a store on it blocks, too.
void AppendDisk(const std::string& data_dir, MetricFamilies& families) {
  struct statvfs disk {};
  if (statvfs(data_dir.c_str(), &disk) != 0) return;
  const uint64_t block = disk.f_frsize;
  families.Gauge("weir_data_disk_free_bytes", "Bytes free for the relay on the disk of its data directory")
      .Add(disk.f_bavail * block);
  families.Gauge("weir_data_disk_size_bytes", "Size of the disk of the data directory").Add(disk.f_blocks * block);
}

void AppendGroupCommit(const GroupCommitStats& s, MetricFamilies& families) {
  families.Counter("weir_commits_total", "Writes to the store, each of all events that waited").Add(s.writes);
  families.Counter("weir_commit_events_total", "Events handed to the store").Add(s.events);
  families.Counter("weir_commit_failed_events_total", "Events whose write failed (disk full, I/O error)").Add(s.failed);
  families.Gauge("weir_commit_waiting_events", "Events that wait for their write").Add(s.waiting);
  families.Counter("weir_bulk_commits_total", "Writes of imports to the store that went well").Add(s.bulk_writes);
  families.Counter("weir_bulk_commit_events_total", "Events in writes of imports that went well, duplicates too")
      .Add(s.bulk_events);
  families.Counter("weir_bulk_commits_failed_total", "Writes of imports that failed; the import waits and tries again")
      .Add(s.failed_bulk_writes);
  families.Gauge("weir_bulk_commits_waiting", "Writes of imports that wait for their turn").Add(s.bulk_waiting);
  families.Counter("weir_expired_events_total", "Events removed because their time had passed").Add(s.expired_removed);
  families.Counter("weir_vanished_events_total", "Events removed because their authors asked to vanish")
      .Add(s.vanished_removed);
  families.Counter("weir_expiry_sweeps_total", "Searches for events that expired or are to vanish, by outcome")
      .Add(s.sweeps, {{"outcome", "done"}})
      .Add(s.failed_sweeps, {{"outcome", "failed"}});
}

void AppendController(std::string_view name, const PidState& s, MetricFamilies& families) {
  families.Add(s.p, {{"controller", name}, {"term", "p"}});
  families.Add(s.i, {{"controller", name}, {"term", "i"}});
  families.Add(s.d, {{"controller", name}, {"term", "d"}});
}

// Adds the figures of the controllers for reads, for interactive writes and for bulk writes.
void AppendControllers(const AdaptiveLimiter& limiter, MetricFamilies& families) {
  const std::array<std::pair<std::string_view, PidState>, 3> controllers = {
      {{"read", limiter.ControllerState(Operation::kRead)},
       {"write", limiter.ControllerState(Operation::kWrite, WorkClass::kInteractive)},
       {"bulk", limiter.ControllerState(Operation::kWrite, WorkClass::kBulk)}}};
  families.Gauge("weir_throttle_process_variable",
                 "Level that a controller controls; at 1.0 the engine begins to brake");
  for (const auto& [name, state] : controllers) families.Add(state.measurement, {{"controller", name}});
  families.Gauge("weir_throttle_setpoint", "Level at which a controller holds its process variable");
  for (const auto& [name, state] : controllers) families.Add(state.setpoint, {{"controller", name}});
  families.Gauge("weir_throttle_term", "The three terms of a controller's output");
  for (const auto& [name, state] : controllers) AppendController(name, state, families);
  families.Gauge("weir_throttle_output", "A controller's output; above 0 it brakes");
  for (const auto& [name, state] : controllers) families.Add(state.output, {{"controller", name}});
}

void AppendView(const LimiterView& view, MetricFamilies& families) {
  families.Gauge("weir_throttle_level", "Level of the signal that limits a class of writes, or would limit it first");
  for (const auto& [name, c] : kClasses) families.Add(view[c].level, {{"class", name}});
  families.Gauge("weir_throttle_open", "1 while nothing limits a class of writes");
  for (const auto& [name, c] : kClasses) families.Add(Flag(view[c].open), {{"class", name}});
  families.Gauge("weir_throttle_limit_bytes_per_second", "Limit of a class of writes; absent while nothing limits it");
  for (const auto& [name, c] : kClasses)
    if (!view[c].open) families.Add(view[c].bytes_per_second, {{"class", name}});
  families.Gauge("weir_throttle_limiting", "1 for the signal that limits a class of writes, or reads");
  for (const auto& [name, c] : kClasses)
    if (!view[c].open) families.Add(1.0, {{"class", name}, {"signal", view[c].reason}});
  if (view.scans_at_once > 0) families.Add(1.0, {{"class", "scans"}, {"signal", view.read_reason}});
  families.Gauge("weir_throttle_scans_at_once", "Scans that may run at once; 0: any number")
      .Add(static_cast<double>(view.scans_at_once));
  families.Gauge("weir_throttle_emergency", "1 while memory is beyond the emergency mark").Add(Flag(view.emergency));
  families.Gauge("weir_throttle_sensor_lost", "1 while the engine cannot be measured").Add(Flag(view.sensor_lost));
  families.Gauge("weir_throttle_signal_level",
                 "Level of a signal of the engine's load; at 1.0 the engine begins to brake");
  for (const Signal& s : view.sample.signals()) families.Add(s.level, {{"signal", s.name}});
  families.Counter("weir_throttle_escapes_total", "Times that the engine braked, or had to help itself")
      .Add(view.sample.escapes);
}

void AppendGates(const AdaptiveLimiter& limiter, const LoadSample& sample, MetricFamilies& families) {
  std::array<std::pair<std::string_view, GateStats>, kOperations.size()> gates;
  for (size_t i = 0; i < gates.size(); ++i) {
    gates[i] = {kOperations[i].first, limiter.Stats(kOperations[i].second)};
    // Adds a 0 for each reason: if a counter appeared with its first refusal, Prometheus' rate() would miss that
    // refusal.
    for (const Signal& s : sample.signals()) gates[i].second.refused.try_emplace(s.name, 0);
    for (const char* const reason : {"emergency", "queue full", "too large"})
      gates[i].second.refused.try_emplace(reason, 0);
  }

  families.Counter("weir_throttle_admitted_total", "Operations that the gate let through");
  for (const auto& [name, s] : gates)
    for (const auto& [class_name, c] : kClasses)
      families.Add(s.admitted[c].operations, {{"operation", name}, {"class", class_name}});
  families.Counter("weir_throttle_admitted_bytes_total",
                   "Bytes of operations that the gate let through: stored by writes, likely touched by reads");
  for (const auto& [name, s] : gates)
    for (const auto& [class_name, c] : kClasses)
      families.Add(s.admitted[c].bytes, {{"operation", name}, {"class", class_name}});
  families.Counter("weir_throttle_delayed_total", "Operations that had to wait");
  for (const auto& [name, s] : gates) families.Add(s.delayed, {{"operation", name}});
  families.Counter("weir_throttle_delay_seconds_total", "Total time that operations waited at the gate");
  for (const auto& [name, s] : gates) families.Add(ToSeconds(s.waited), {{"operation", name}});
  families.Counter("weir_throttle_refused_total", "Operations that were refused, by reason");
  for (const auto& [name, s] : gates)
    for (const auto& [reason, count] : s.refused) families.Add(count, {{"operation", name}, {"reason", reason}});
  families.Counter("weir_throttle_cancelled_total", "Operations whose client left while they waited");
  for (const auto& [name, s] : gates) families.Add(s.cancelled, {{"operation", name}});
  families.Gauge("weir_throttle_waiting", "Operations that wait");
  for (const auto& [name, s] : gates) families.Add(static_cast<double>(s.waiting), {{"operation", name}});
  families.Gauge("weir_throttle_scans_running", "Scans that run");
  for (const auto& [name, s] : gates)
    if (name == "read") families.Add(static_cast<double>(s.running));
}

void AppendEngine(const RocksDbDetails& d, MetricFamilies& families) {
  families.Gauge("weir_rocksdb_l0_files", "Files in level 0, of the fullest column family").Add(d.l0_files);
  families.Gauge("weir_rocksdb_immutable_memtables", "Memtables that wait for their flush").Add(d.immutable_memtables);
  families.Gauge("weir_rocksdb_compaction_debt_bytes", "Bytes that wait for compaction").Add(d.debt_bytes);
  families.Gauge("weir_rocksdb_compaction_score", "Highest score of the levels below 0").Add(d.score);
  families
      .Gauge("weir_rocksdb_drain_bytes_per_second",
             "Rate at which compactions take bytes out of level 0, measured as originally written")
      .Add(d.drain_bytes_per_second);
  families
      .Gauge("weir_rocksdb_flush_bytes_per_second",
             "Rate at which flushes take bytes out of memory, measured as originally written")
      .Add(d.flush_bytes_per_second);
  families.Gauge("weir_rocksdb_background_bytes_per_second", "Rate at which flushes and compactions write to disk")
      .Add(d.background_bytes_per_second);
  families
      .Gauge("weir_rocksdb_delayed_write_bytes_per_second", "Rate that RocksDB itself holds writers to; 0: no limit")
      .Add(d.delayed_bytes_per_second);
  families.Gauge("weir_rocksdb_writes_stopped", "1 while RocksDB itself stops writers").Add(Flag(d.writes_stopped));
  families.Counter("weir_rocksdb_slowdowns_total", "Times that RocksDB slowed writers, or did so again")
      .Add(d.slowdowns);
  families.Counter("weir_rocksdb_stops_total", "Times that RocksDB stopped writers, or did so again").Add(d.stops);
  families.Counter("weir_rocksdb_stalls_total", "Times that RocksDB slowed or stopped writers, by cause");
  for (const auto& [cause, count] : d.stall_causes) families.Add(count, {{"cause", cause}});
}

void AppendMemory(const RocksDbDetails& d, MetricFamilies& families) {
  families.Gauge("weir_memory_used_bytes", "Memory that counts against the target").Add(d.memory.bytes());
  families.Gauge("weir_memory_target_bytes", "Memory that the whole program may use").Add(d.memory_target_bytes);
  families
      .Gauge("weir_memory_part_bytes",
             "Parts of the memory in use; memtables may also be counted in the block cache, and what the allocator "
             "keeps is not in the total")
      .Add(d.block_cache_bytes, {{"part", "block_cache"}})
      .Add(d.pinned_bytes, {{"part", "pinned"}})
      .Add(d.memtable_bytes, {{"part", "memtables"}})
      .Add(d.table_reader_bytes, {{"part", "table_readers"}})
      .Add(d.own_bytes, {{"part", "own"}})
      .Add(d.memory.kept_bytes(), {{"part", "allocator"}});
  families
      .Gauge("weir_block_cache_limit_bytes",
             "Bytes that the block cache may have now: fewer than its size while memory is short")
      .Add(d.block_cache_limit_bytes);
}

void AppendPostgres(const PostgresDetails& d, MetricFamilies& families) {
  families
      .Gauge("weir_postgres_wal_bytes", "Bytes written to PostgreSQL's log since the redo point of its last checkpoint")
      .Add(d.wal_bytes);
  families.Gauge("weir_postgres_max_wal_bytes", "PostgreSQL's max_wal_size").Add(d.max_wal_bytes);
  families.Gauge("weir_postgres_standbys", "Standbys that stream from the primary").Add(d.standbys);
  families.Gauge("weir_postgres_replica_lag_bytes", "Bytes that the standby that lags most has not replayed")
      .Add(d.replica_lag_bytes);
  families.Gauge("weir_postgres_waiting_sessions", "Sessions of PostgreSQL that wait, by reason")
      .Add(d.lock_waits, {{"for", "lock"}})
      .Add(d.standby_waits, {{"for", "standby"}});
  families.Counter("weir_postgres_requested_checkpoints_total", "Checkpoints that were requested, not timed")
      .Add(d.requested_checkpoints);
}

void AppendReaders(const PoolStats& s, MetricFamilies& families) {
  families
      .Gauge("weir_postgres_read_connections",
             "Connections that read from PostgreSQL: the most that WEIR_POSTGRES_CONNECTIONS allows, as many as the "
             "relay has found to help, those that are open, those in use")
      .Add(static_cast<double>(s.most), {{"number", "most"}})
      .Add(static_cast<double>(s.allowed), {{"number", "allowed"}})
      .Add(static_cast<double>(s.open), {{"number", "open"}})
      .Add(static_cast<double>(s.used), {{"number", "used"}});
  families.Gauge("weir_postgres_read_waiting", "Reads that wait for a connection").Add(static_cast<double>(s.waiting));
  families.Counter("weir_postgres_reads_total", "Reads from PostgreSQL, each a slice of a REQ or a look-up")
      .Add(s.reads, {{"outcome", "ok"}})
      .Add(s.failed, {{"outcome", "failed"}});
  families.Counter("weir_postgres_read_seconds_total", "Total time that reads had a connection")
      .Add(ToSeconds(s.taken));
  families.Counter("weir_postgres_read_waits_total", "Reads that had to wait for a connection").Add(s.waits);
  families.Counter("weir_postgres_read_wait_seconds_total", "Total time that reads waited for a connection")
      .Add(ToSeconds(s.waited));
  families
      .Counter("weir_postgres_read_steps_total",
               "Times that more or fewer connections were tried; kept if they brought more reads, or cost few")
      .Add(s.steps.up_kept, {{"step", "up"}, {"outcome", "kept"}})
      .Add(s.steps.up_undone, {{"step", "up"}, {"outcome", "undone"}})
      .Add(s.steps.down_kept, {{"step", "down"}, {"outcome", "kept"}})
      .Add(s.steps.down_undone, {{"step", "down"}, {"outcome", "undone"}});
  families
      .Counter("weir_postgres_refused_connections_total",
               "Connections that PostgreSQL refused because it, or the role, had too many")
      .Add(s.refused);
}

void AppendSiblings(const SiblingsStats& s, MetricFamilies& families) {
  families.Gauge("weir_siblings_reads", "1 while what other relays save in the same database can be read")
      .Add(Flag(s.read.ok()));
  families
      .Counter("weir_siblings_events_total",
               "Events that other relays saved and that were handed to this relay's subscribers")
      .Add(s.events);
  families.Gauge("weir_siblings_bus_up", "1 while the bus reaches the other relays").Add(s.bus.is_up ? 1.0 : 0.0);
  families.Counter("weir_siblings_ephemeral_total", "Ephemeral events that went over the bus")
      .Add(s.bus.sent, {{"direction", "out"}})
      .Add(s.bus.received, {{"direction", "in"}});
  families.Counter("weir_siblings_lost_total", "Ephemeral events that did not reach the others, or this relay")
      .Add(s.bus.too_large, {{"reason", "too_large"}})
      .Add(s.bus.lost, {{"reason", "bus_down_or_full"}});
}

}  // namespace

void AppendSources(const MetricSources& sources, MetricFamilies& families) {
  if (sources.subscriptions)
    families.Gauge("weir_subscriptions", "Subscriptions that are open").Add(sources.subscriptions());
  if (sources.work_waiting)
    families.Gauge("weir_work_waiting_tasks", "Tasks that wait for a worker thread").Add(sources.work_waiting());
  if (sources.store) AppendStore(sources.store(), families);
  if (!sources.data_dir.empty()) AppendDisk(sources.data_dir, families);
  if (sources.group_commit) AppendGroupCommit(sources.group_commit(), families);
  if (sources.limiter != nullptr) {
    const LimiterView view = sources.limiter->View();
    AppendView(view, families);
    AppendControllers(*sources.limiter, families);
    AppendGates(*sources.limiter, view.sample, families);
  }
  if (sources.rocksdb != nullptr) {
    const RocksDbDetails details = sources.rocksdb->Details();
    AppendEngine(details, families);
    AppendMemory(details, families);
  }
  if (sources.postgres != nullptr) AppendPostgres(sources.postgres->Details(), families);
  if (sources.postgres_readers) AppendReaders(sources.postgres_readers(), families);
  if (sources.siblings != nullptr) AppendSiblings(sources.siblings->Stats(), families);
  AppendService(sources.service, families);
}

}  // namespace weir
