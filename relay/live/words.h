// Signals in words: "L0 files 17 of 20", and why they are high: "compaction is behind".
#pragma once

#include <string>
#include <string_view>

#include "monitors/postgres/postgres_monitor.h"
#include "monitors/rocksdb_monitor.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

// The engine's figures behind the signals; null for an engine that is not in use.
struct EngineDetails {
  const RocksDbDetails* rocksdb = nullptr;
  const PostgresDetails* postgres = nullptr;
};

std::string Bytes(double bytes);

// Describes a signal by its figures; a signal with an unknown name by its level.
std::string SignalInWords(const Signal& signal, const LoadSample& sample, const EngineDetails& engine);
// Says why a signal is high; empty for an unknown signal.
std::string_view WhyHigh(std::string_view signal);

// Says what limits a class of writes, or comes nearest to that. A limit that no client feels is not reported as a
// complaint: `felt` says whether operations wait or were refused.
std::string WriteInWords(const LimiterView& view, WorkClass work_class, bool felt, const EngineDetails& engine);
std::string ReadInWords(const LimiterView& view, const EngineDetails& engine);

}  // namespace weir
