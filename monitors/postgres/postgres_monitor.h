// PostgresMonitor: the LoadMonitor of a PostgreSQL server.
//
//   weir::PostgresMonitor monitor("postgres://weir@db1,db2/relay?target_session_attrs=read-write", target_bytes);
//   monitor.Start();
//
// Its signals (load_sample.h):
//   wal      log written since the redo point of the last checkpoint (where a recovery would begin) / 1.6 times
//            max_wal_size. A checkpoint that keeps pace ends below 0.63; at 1.0 it is far behind
//   replica  log that the slowest standby has not replayed / a budget. Standbys are compared if they stream, replay and
//            have answered in the last 15 s (by their own clocks); the signal is absent if there are none
//   standby  seconds for which a commit has waited for a standby's answer, at most 3; so 1.0 after one second. If no
//            standby answers, this signal alone shows it: the log does not grow, and no standby lags
//   waiting  sessions that wait for a lock or for a standby's answer / a threshold; shown, limits nothing: waiting work
//            has been admitted already, and the signals above say why it waits
//   own      bytes that the program reported by AddOwnBytes / their budget
//   memory   memory of this process / the memory target
// postgres_escapes.h says what an escape is.
//
// The signals own and memory are known even if the server does not answer (LoadMonitor::ProcessSample).
//
// The monitor sends one short query for each sample, on a connection of its own. If the server does not answer in time,
// the sample fails (LoadMonitor) and the connection is closed. The monitor connects again after a second; after each
// failure it waits twice as long, up to 8 s. The monitor's role must inherit pg_monitor. The server must be a primary,
// not a standby.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "monitors/load_monitor.h"
#include "monitors/memory_probe.h"
#include "monitors/own_bytes.h"

namespace weir {

inline constexpr std::string_view kStandbySignal = "standby";

struct PostgresMonitorSettings {
  MonitorSettings monitor{.sample_interval = std::chrono::milliseconds(250)};
  std::chrono::milliseconds timeout{1000};  // for a whole sample, which includes connecting
  uint64_t replica_budget_mb = 64;          // MiB of lag at which `replica` is 1.0
  uint64_t waiting_threshold = 16;          // sessions at which `waiting` is 1.0
  double wal_bytes_per_byte = 2;            // bytes of log for each admitted byte; not a setting
  uint64_t own_budget_mb = 0;               // MiB; 0: an eighth of the memory target
};
// Declares the time-out, the replica budget and the waiting threshold. The settings of the RocksDB monitor declare
// `monitor` and own_budget_mb.
void Declare(SettingTable& table, PostgresMonitorSettings& settings);

// The figures from which the newest good sample was computed, for displays. `own_bytes` and `memory` may be newer: they
// are also read while the server does not answer.
struct PostgresDetails {
  int server_version = 0;            // in the form of libpq: 150006
  uint64_t wal_bytes = 0;            // bytes of log since the redo point of the last checkpoint
  uint64_t max_wal_bytes = 0;        // max_wal_size
  uint64_t standbys = 0;             // number of standbys that stream, replay and answer
  uint64_t replica_lag_bytes = 0;    // bytes of log that the slowest of them has not replayed
  uint64_t lock_waits = 0;           // sessions that wait for a lock
  uint64_t standby_waits = 0;        // sessions that wait for a standby
  uint64_t oldest_standby_wait = 0;  // start of the oldest statement among these, in µs of the server's clock; 0: none
  Duration standby_wait{};           // time for which oldest_standby_wait has been the same
  uint64_t requested_checkpoints = 0;  // since the server began to count
  uint64_t backend_syncs = 0;          // files that sessions synced, since the server began to count
  uint64_t own_bytes = 0;
  MemoryUse memory;
};

class PostgresProbe;

class PostgresMonitor final : public LoadMonitor {
 public:
  // `conninfo` is a connection string of libpq. Does not connect before Start or SampleOnce.
  PostgresMonitor(std::string conninfo, uint64_t target_bytes, const PostgresMonitorSettings& settings = {},
                  const Clock& clock = Clock::System(), const MemoryFiles& files = {});

  // Reports memory of the program that grows with its load: `bytes` when it allocates them, and the same number below 0
  // when it frees them (own_bytes.h).
  void AddOwnBytes(int64_t bytes, OwnUse use = OwnUse::kHeld);
  uint64_t own_budget_bytes() const;

  PostgresDetails Details() const;

 private:
  PostgresProbe& postgres_;
};

}  // namespace weir
