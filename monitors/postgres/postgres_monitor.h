// PostgresMonitor: how a PostgreSQL behind a wire feels, for the throttle.
//
//   weir::PostgresMonitor monitor("postgres://weir@db1,db2/relay?target_session_attrs=read-write", target_bytes);
//   monitor.Start();
//
// Signals:
//   wal      what was written to the log since the redo point of the last checkpoint, against 1.6 times max_wal_size. A
//            checkpoint that keeps pace ends below 0.63; at 1.0 it is far behind
//   replica  what the standby that lags most has not replayed, of those that stream, replay and have answered in the
//            last 15 s (by their own clocks), against a budget; not there while there is none
//   standby  how long a commit has waited for a standby's answer, against a second: where none is left that answers,
//            no log grows and nothing lags
//   waiting  sessions that wait for a lock or for a standby's answer, against a threshold; shown, does not act: what
//            waits has been admitted already, and those above say why
//   own      what the program reported by AddOwnBytes, against its budget
//   memory   of this process against the target
// Escapes: see postgres_escapes.h.
//
// The last two are known without the server, too (LoadMonitor::ProcessSample).
//
// It asks one short question a sample, on a connection of its own, which is made again when it is lost: after a second,
// and each time twice as long, up to 8 s. A server that does not answer in time is a sample that failed (LoadMonitor).
// Its role needs pg_monitor. The server must be one that is written to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "monitors/load_monitor.h"
#include "monitors/memory_probe.h"
#include "monitors/own_bytes.h"

namespace weir {

struct PostgresMonitorSettings {
  MonitorSettings monitor{.sample_interval = std::chrono::milliseconds(250)};
  std::chrono::milliseconds timeout{1000};  // of an answer, and of a connection
  uint64_t replica_budget_mb = 64;          // behind: `replica` is 1.0
  uint64_t waiting_threshold = 16;          // sessions: `waiting` is 1.0
  double wal_bytes_per_byte = 2;            // of the log, for a byte that is admitted
  uint64_t own_budget_mb = 0;               // 0: an eighth of the memory target
};
// Without those of `monitor` and the budget, which every engine has.
void Declare(SettingTable& table, PostgresMonitorSettings& settings);

// What stands behind the newest sample, for displays.
struct PostgresDetails {
  int server_version = 0;  // 150006
  uint64_t wal_bytes = 0;  // since the redo point
  uint64_t max_wal_bytes = 0;
  uint64_t standbys = 0;           // that stream, replay and answer
  uint64_t replica_lag_bytes = 0;  // of the one that lags most
  uint64_t lock_waits = 0;         // sessions
  uint64_t standby_waits = 0;
  uint64_t oldest_standby_wait = 0;  // when the oldest statement that waits for one began, in µs of the server's clock
  Duration standby_wait{};           // for how long that has been the same
  uint64_t requested_checkpoints = 0;  // since the server's figures began
  uint64_t backend_syncs = 0;          // since then
  uint64_t own_bytes = 0;
  MemoryUse memory;
};

class PostgresProbe;

class PostgresMonitor final : public LoadMonitor {
 public:
  // `conninfo` as libpq has it. Nothing is asked before Start or SampleOnce.
  PostgresMonitor(std::string conninfo, uint64_t target_bytes, const PostgresMonitorSettings& settings = {},
                  const Clock& clock = Clock::System(), const MemoryFiles& files = {});

  // Memory of the program that grows with its load (own_bytes.h).
  void AddOwnBytes(int64_t bytes, OwnUse use = OwnUse::kHeld);
  uint64_t own_budget_bytes() const;

  PostgresDetails Details() const;

 private:
  PostgresProbe& postgres_;
};

}  // namespace weir
