// Signals in words: "L0 files 17 of 20", and why they are high: "compaction is behind".
#pragma once

#include <string>
#include <string_view>

#include "monitors/postgres/postgres_monitor.h"
#include "monitors/rocksdb_monitor.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

// What stands behind the signals; null where there is no such engine.
struct EngineDetails {
  const RocksDbDetails* rocksdb = nullptr;
  const PostgresDetails* postgres = nullptr;
};

std::string Bytes(double bytes);

// A signal with its figures, by its name; of a name that nobody knows its level.
std::string SignalInWords(const Signal& signal, const LoadSample& sample, const EngineDetails& engine);
// What it means that it is high; empty where nobody knows.
std::string_view WhyHigh(std::string_view signal);

// What limits a class of writes, or comes nearest to. A limit that nobody feels is not there to be complained of:
// `felt` says whether somebody waits or was refused.
std::string WriteInWords(const LimiterView& view, WorkClass work_class, bool felt, const EngineDetails& engine);
std::string ReadInWords(const LimiterView& view, const EngineDetails& engine);

}  // namespace weir
