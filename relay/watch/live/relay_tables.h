// Makes the tables that the relay itself shows at /live (relay/observe/metrics/live_tables.h). Each function adds one
// table; AddClients adds two. Each RelayPlugin can add tables of its own (RelayPlugin::AppendLive).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "monitors/rocksdb_monitor.h"
#include "relay/heaviest_clients.h"
#include "relay/observe/metrics/live_tables.h"
#include "relay/observe/relay/relay_counters.h"
#include "relay/store/event_store.h"
#include "relay/store/postgres/session_pool.h"
#include "relay/watch/live/words.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

void AddSignals(const LimiterView& view, const EngineDetails& engine, LiveTables* tables);
void AddControllers(const AdaptiveLimiter& limiter, LiveTables* tables);
// `recent` has the latencies of the last `seconds` seconds.
void AddLatencies(const RelayCounters::Latencies& recent, size_t seconds, LiveTables* tables);
void AddMemory(const EngineDetails& engine, const LoadSample& sample, LiveTables* tables);
void AddEngine(const EngineDetails& engine, const StoreSizes& sizes, LiveTables* tables);
void AddReaders(const PoolStats& readers, LiveTables* tables);
void AddLevels(const RocksDbDetails& details, LiveTables* tables);
// Adds a table of addresses and one of connections. Each second WorkPool::FadeTakers removes a share of the work that
// HeaviestClients has; `second` is this share, from 0 to 1. So a client's work times `second` is its average work in
// one second.
void AddClients(const HeaviestClients& heaviest, double second, LiveTables* tables);
// `saved` is the result of RelayCounters::SavedByKind.
void AddKinds(const std::vector<uint64_t>& saved, LiveTables* tables);
void AddRefusals(const std::vector<std::pair<std::string_view, uint64_t>>& refusals, LiveTables* tables);

}  // namespace weir
