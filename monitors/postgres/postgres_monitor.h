// PostgresMonitor: the load of a PostgreSQL server, for the throttle.
//
//   weir::PostgresMonitor monitor("postgres://weir@db1,db2/relay?target_session_attrs=read-write", target_bytes);
//   monitor.Start();
//
// Signals:
//   wal      log written since the redo point of the last checkpoint, against 1.6 times max_wal_size. A checkpoint that
//            keeps pace ends below 0.63; at 1.0 it is far behind
//   replica  log that the standby that lags most has not replayed, against a budget. Standbys count if they stream,
//            replay and have answered in the last 15 s (by their own clocks); the signal is absent while there is none
//   standby  how long a commit has waited for a standby's answer, against a second: if no standby is left that answers,
//            no log grows and no standby lags
//   waiting  sessions that wait for a lock or for a standby's answer, against a threshold; shown, does not act: waiting
//            work has been admitted already, and the signals above say why it waits
//   own      bytes that the program reported by AddOwnBytes, against its budget
//   memory   of this process against the target
// Escapes: see postgres_escapes.h.
//
// The last two are known without the server, too (LoadMonitor::ProcessSample).
//
// It asks one short question per sample, on a connection of its own. A lost connection is made again after a second,
// then after twice as long each time, up to 8 s. If the server does not answer in time, the sample has failed
// (LoadMonitor). The monitor's role needs pg_monitor. The server must be one that is written to.
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
  std::chrono::milliseconds timeout{1000};  // for all of a sample, its connection too
  uint64_t replica_budget_mb = 64;          // lag at which `replica` is 1.0
  uint64_t waiting_threshold = 16;          // sessions at which `waiting` is 1.0
  double wal_bytes_per_byte = 2;            // log bytes for each admitted byte
  uint64_t own_budget_mb = 0;               // 0: an eighth of the memory target
};
// Declares all but `monitor` and the budget, which every engine has.
void Declare(SettingTable& table, PostgresMonitorSettings& settings);

// The figures behind the newest sample, for displays.
struct PostgresDetails {
  int server_version = 0;  // 150006
  uint64_t wal_bytes = 0;  // since the redo point
  uint64_t max_wal_bytes = 0;
  uint64_t standbys = 0;           // that stream, replay and answer
  uint64_t replica_lag_bytes = 0;  // the lag of the one that lags most
  uint64_t lock_waits = 0;         // sessions
  uint64_t standby_waits = 0;
  uint64_t oldest_standby_wait = 0;    // start of the oldest statement that waits for one, in µs of the server's clock
  Duration standby_wait{};             // for how long that has been the same
  uint64_t requested_checkpoints = 0;  // since the server began to count
  uint64_t backend_syncs = 0;          // since then
  uint64_t own_bytes = 0;
  MemoryUse memory;
};

class PostgresProbe;

class PostgresMonitor final : public LoadMonitor {
 public:
  // `conninfo` is as libpq has it. Asks nothing before Start or SampleOnce.
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
