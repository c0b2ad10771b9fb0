// Describes in words the signals of the engine's load by which the throttle limits work ("L0 files 17 of 20"), and why
// a signal is high ("compaction is behind").
#pragma once

#include <string>

#include "monitors/postgres/postgres_monitor.h"
#include "monitors/rocksdb_monitor.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

// The figures from which the engine's signals are computed. The pointer for an engine that is not in use is null.
struct EngineDetails {
  const RocksDbDetails* rocksdb = nullptr;
  const PostgresDetails* postgres = nullptr;
};

// Formats a number of bytes: "78.1 MB". A negative number counts as 0.
std::string Bytes(double bytes);

// Describes a signal by the engine's figures or, if its name is not known here, by its level.
std::string SignalInWords(const Signal& signal, const LoadSample& sample, const EngineDetails& engine);

// Describes what limits a class of writes or, if nothing does, which signal comes nearest to limiting it. `felt` says
// whether clients notice the limit (Sampler::Felt); if they do not, a limit above 0 is described as "up to 3.1 MB/s
// pass", not as "held to 3.1 MB/s".
std::string WriteInWords(const LimiterView& view, WorkClass work_class, bool felt, const EngineDetails& engine);
// Does the same for reads: describes what limits the number of scans.
std::string ReadInWords(const LimiterView& view, const EngineDetails& engine);

}  // namespace weir
