#include "relay/watch/live/relay_tables.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "config/text/readable.h"
#include "relay/observe/metrics/latency_metric.h"
#include "relay/observe/relay/known_kinds.h"

namespace weir {
namespace {

// Formats a rate per second.
std::string RateText(double rate) {
  if (rate <= 0) return "0";
  return rate < 10 ? Fixed(rate, 1) : ShortNumber(RoundedCount(rate));
}

std::string InTime(double seconds) { return ShortTime(FromSeconds(seconds)); }

std::string ActsOn(const Signal& signal) {
  const bool writes = signal.acts_on_writes && signal.bytes_per_level > 0;
  if (writes && signal.acts_on_reads) return "reads, writes";
  if (writes) return "writes";
  return signal.acts_on_reads ? "reads" : "shown only";
}

void AddController(const std::string& name, const PidState& state, const Tuning& tuning, LiveTable* table) {
  table->AddRow({name, Fixed(state.measurement, 2), Fixed(tuning.setpoint, 2), Fixed(state.p, 3), Fixed(state.i, 3),
                 Fixed(state.d, 3), Fixed(state.output, 3)});
}

void AddLatency(const std::string& name, const LatencySnapshot& recent, size_t seconds, LiveTable* table) {
  const auto count = static_cast<double>(recent.count());
  if (count == 0) return table->AddRow({name, "0", "–", "–"});
  table->AddRow({name, RateText(count / static_cast<double>(std::max<size_t>(1, seconds))),
                 InTime(Quantile(recent, 0.50)), InTime(Quantile(recent, 0.99))});
}

void AddRocksDb(const RocksDbDetails& d, LiveTable* table) {
  table->AddRow({"flushes take out of memory", Bytes(d.flush_bytes_per_second) + "/s"});
  table->AddRow({"compactions take out of L0", Bytes(d.drain_bytes_per_second) + "/s"});
  table->AddRow({"flushes and compactions write", Bytes(d.background_bytes_per_second) + "/s"});
  table->AddRow({"bytes on disk for a byte written", Fixed(d.disk_per_user_byte, 2)});
  table->AddRow({"memtables that wait for their flush", std::to_string(d.immutable_memtables)});
  table->AddRow({"compaction debt", Bytes(static_cast<double>(d.debt_bytes))});
  const std::string brake = d.writes_stopped ? "stops writers"
                            : d.delayed_bytes_per_second > 0
                                ? "holds writers to " + Bytes(d.delayed_bytes_per_second) + "/s"
                                : "none";
  table->AddRow({"RocksDB's own brake", brake});
  table->AddRow({"times that it braked", std::to_string(d.slowdowns + d.stops)});
}

void AddPostgres(const PostgresDetails& d, LiveTable* table) {
  table->AddRow({"log since the last checkpoint", Bytes(static_cast<double>(d.wal_bytes))});
  table->AddRow({"max_wal_size", Bytes(static_cast<double>(d.max_wal_bytes))});
  table->AddRow({"standbys that stream", std::to_string(d.standbys)});
  table->AddRow({"the slowest standby is behind by", Bytes(static_cast<double>(d.replica_lag_bytes))});
  table->AddRow({"sessions that wait for a lock", std::to_string(d.lock_waits)});
  table->AddRow({"sessions that wait for a standby", std::to_string(d.standby_waits)});
  table->AddRow({"checkpoints that were requested", std::to_string(d.requested_checkpoints)});
}

}  // namespace

void AddSignals(const LimiterView& view, const EngineDetails& engine, LiveTables* tables) {
  LiveTable& table =
      tables->Add("signals", "Signals of the engine's load", {{"signal"}, {"level", true}, {"in words"}, {"acts on"}},
                  "the engine has not been measured yet");
  for (const Signal& signal : view.sample.signals())
    table.AddRow(
        {std::string(signal.name), Fixed(signal.level, 2), SignalInWords(signal, view.sample, engine), ActsOn(signal)});
}

void AddControllers(const AdaptiveLimiter& limiter, LiveTables* tables) {
  LiveTable& table = tables->Add(
      "controllers", "Controllers",
      {{"of"}, {"level", true}, {"setpoint", true}, {"P", true}, {"I", true}, {"D", true}, {"output", true}});
  const auto add = [&](const char* name, Operation operation, WorkClass c) {
    AddController(name, limiter.ControllerState(operation, c), limiter.TuningOf(operation, c), &table);
  };
  add("writes", Operation::kWrite, WorkClass::kInteractive);
  add("bulk", Operation::kWrite, WorkClass::kBulk);
  add("reads", Operation::kRead, WorkClass::kInteractive);
}

void AddLatencies(const RelayCounters::Latencies& recent, size_t seconds, LiveTables* tables) {
  LiveTable& table = tables->Add("latencies", "Latencies of the last ten seconds",
                                 {{"from … to"}, {"a second", true}, {"p50", true}, {"p99", true}});
  AddLatency("EVENT to OK", recent.event_to_ok, seconds, &table);
  AddLatency("REQ to EOSE", recent.req_to_eose, seconds, &table);
  AddLatency("EVENT to subscribers", recent.live_delivery, seconds, &table);
  AddLatency("wait of writes", recent.write_gate_wait, seconds, &table);
  AddLatency("wait of reads", recent.read_gate_wait, seconds, &table);
}

void AddMemory(const EngineDetails& engine, const LoadSample& sample, LiveTables* tables) {
  LiveTable& table =
      tables->Add("memory", "Memory", {{"part"}, {"bytes", true}, {"of the target", true}}, "not measured yet");
  if (!sample.time) return;
  const auto all = static_cast<double>(sample.memory_bytes);
  const double target = sample.memory_pressure > 0 ? all / sample.memory_pressure : 0;
  const auto add = [&](const char* part, double bytes) {
    table.AddRow({part, Bytes(bytes), target > 0 ? Percent(bytes / target) : "–"});
  };
  add("all that counts", all);
  if (const RocksDbDetails* d = engine.rocksdb) {
    add("block cache", static_cast<double>(d->block_cache_bytes));
    add("block cache, pinned", static_cast<double>(d->pinned_bytes));
    add("memtables", static_cast<double>(d->memtable_bytes));
    add("table readers", static_cast<double>(d->table_reader_bytes));
    add("the relay's own buffers", static_cast<double>(d->own_bytes));
    add("kept by the allocator, not counted", static_cast<double>(d->memory.kept_bytes()));
  } else if (engine.postgres != nullptr) {
    add("the relay's own buffers", static_cast<double>(engine.postgres->own_bytes));
  }
  add("target", target);
}

void AddEngine(const EngineDetails& engine, const StoreSizes& sizes, LiveTables* tables) {
  LiveTable& table =
      tables->Add("engine", engine.postgres != nullptr ? "PostgreSQL" : "RocksDB", {{"what"}, {"now", true}});
  table.AddRow({"events stored", ShortNumber(sizes.events)});
  table.AddRow({"disk", Bytes(static_cast<double>(sizes.disk_bytes))});
  if (sizes.unsearched) {
    table.AddRow({"index of words", Bytes(static_cast<double>(sizes.search_bytes))});
    if (*sizes.unsearched > 0) table.AddRow({"older events not searched yet", ShortNumber(*sizes.unsearched)});
  }
  if (engine.rocksdb != nullptr) AddRocksDb(*engine.rocksdb, &table);
  if (engine.postgres != nullptr) AddPostgres(*engine.postgres, &table);
}

void AddReaders(const PoolStats& s, LiveTables* tables) {
  LiveTable& table = tables->Add("readers", "Connections that read from PostgreSQL", {{"what"}, {"now", true}});
  table.AddRow({"used at once, as many as help", std::to_string(s.allowed) + " of " + std::to_string(s.most)});
  table.AddRow({"open; in use", std::to_string(s.open) + "; " + std::to_string(s.used)});
  table.AddRow({"reads that wait for one", std::to_string(s.waiting)});
  table.AddRow({"reads so far; of these waited", ShortNumber(s.reads) + "; " + ShortNumber(s.waits)});
  const auto steps = [](uint64_t kept, uint64_t undone) {
    return ShortNumber(kept) + " helped, " + ShortNumber(undone) + " did not";
  };
  table.AddRow({"times that more were tried", steps(s.steps.up_kept, s.steps.up_undone)});
  table.AddRow({"times that fewer were tried", steps(s.steps.down_kept, s.steps.down_undone)});
  table.AddRow({"refused by the server", ShortNumber(s.refused)});
}

void AddLevels(const RocksDbDetails& details, LiveTables* tables) {
  LiveTable& table = tables->Add("levels", "RocksDB's levels",
                                 {{"level"}, {"files", true}, {"bytes", true}, {"score", true}}, "no files yet");
  for (size_t i = 0; i < details.levels.size(); ++i) {
    const RocksDbLevel& level = details.levels[i];
    table.AddRow({"L" + std::to_string(i), Fixed(level.files, 0), Bytes(level.bytes), Fixed(level.score, 2)});
  }
}

void AddClients(const HeaviestClients& heaviest, double second, LiveTables* tables) {
  const auto cores = [second](double work) { return Percent(work * second * 1e-9); };
  LiveTable& clients = tables->Add("clients", "Addresses that take most, imports aside",
                                   {{"address"}, {"workers' time", true}, {"memory", true}, {"connections", true}},
                                   "no client is connected");
  for (const HeaviestClients::Address& one : heaviest.addresses)
    clients.AddRow(
        {one.address, cores(one.work), Bytes(static_cast<double>(one.held_bytes)), std::to_string(one.connections)});
  LiveTable& connections = tables->Add("connections", "Connections that take most, imports aside",
                                       {{"connection", true}, {"address"}, {"workers' time", true}});
  for (const HeaviestClients::Connection& one : heaviest.connections)
    connections.AddRow({std::to_string(one.id), one.address, cores(one.work)});
}

void AddKinds(const std::vector<uint64_t>& saved, LiveTables* tables) {
  struct Kind {
    std::string name;
    double rate;
    uint64_t count;
  };
  std::vector<Kind> kinds;
  for (size_t slot = 0; slot < saved.size(); ++slot) {
    if (saved[slot] == 0) continue;
    std::string name = slot < kKnownKinds.size() ? std::to_string(kKnownKinds[slot]) : "others";
    const double rate = tables->PerSecond("kind " + name, static_cast<double>(saved[slot]));
    kinds.push_back({std::move(name), rate, saved[slot]});
  }
  std::ranges::sort(kinds,
                    [](const Kind& a, const Kind& b) { return std::tie(a.rate, a.count) > std::tie(b.rate, b.count); });
  LiveTable& table =
      tables->Add("kinds", "Kinds of events saved", {{"kind", true}, {"a second", true}, {"since the start", true}},
                  "nothing was saved yet");
  for (const Kind& kind : kinds) table.AddRow({kind.name, RateText(kind.rate), ShortNumber(kind.count)});
}

void AddRefusals(const std::vector<std::pair<std::string_view, uint64_t>>& refusals, LiveTables* tables) {
  LiveTable& table =
      tables->Add("refusals", "Refusals to clients", {{"reason"}, {"a second", true}, {"since the start", true}},
                  "nothing was refused yet");
  for (const auto& [prefix, count] : refusals) {
    if (count == 0) continue;
    const double rate = tables->PerSecond("refusal " + std::string(prefix), static_cast<double>(count));
    table.AddRow({std::string(prefix), RateText(rate), ShortNumber(count)});
  }
}

}  // namespace weir
