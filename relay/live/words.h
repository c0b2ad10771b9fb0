// Describes the signals of the throttle in words ("L0 files 17 of 20"), and why a signal is high ("compaction is
// behind").
#pragma once

#include <string>
#include <string_view>

#include "monitors/postgres/postgres_monitor.h"
#include "monitors/rocksdb_monitor.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

// The engine's figures behind the signals. The pointer to an engine that is not in use is null.
struct EngineDetails {
  const RocksDbDetails* rocksdb = nullptr;
  const PostgresDetails* postgres = nullptr;
};

// Formats a number of bytes: "78.1 MB". A negative number counts as 0.
std::string Bytes(double bytes);

// Describes a signal with the engine's figures. A signal with an unknown name is described by its level.
std::string SignalInWords(const Signal& signal, const LoadSample& sample, const EngineDetails& engine);
// Returns the reason why a signal of this name becomes high; empty if the name is unknown.
std::string_view WhyHigh(std::string_view signal);

// Describes what limits a class of writes or, if nothing does, which signal comes nearest to limiting it. `felt` is
// true if operations wait or were refused (Sampler::Felt); a limit that no client feels is put in milder words.
std::string WriteInWords(const LimiterView& view, WorkClass work_class, bool felt, const EngineDetails& engine);
// Does the same for reads, which are scans.
std::string ReadInWords(const LimiterView& view, const EngineDetails& engine);

}  // namespace weir
