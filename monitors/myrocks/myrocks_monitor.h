// MyRocksMonitor: the LoadMonitor of a MyRocks, which is the RocksDB in a MariaDB (mariadb-plugin-rocksdb), over SQL.
//
//   weir::MyRocksMonitor monitor(weir::ParseMysqlUrl("mysql://weir@127.0.0.1").value(), target_bytes);
//   monitor.Start();
//
// Its signals (load_sample.h) are memtables, l0, score and debt, as those of a RocksDB that the program itself has open
// (rocksdb_monitor.h), and the memory of this process. RocksDB's brakes stay where the server's options have them, so
// each is 1.0 where RocksDB begins to slow down writes. An escape is a slowdown or a stop that RocksDB counted.
//
// The monitor sends one query for each sample, on a connection of its own. Any user of the server may ask it. If the
// server does not answer in time, the sample fails (LoadMonitor); the monitor connects again a second later. The signal
// memory is known all the same (LoadMonitor::ProcessSample).
#pragma once

#include <chrono>
#include <cstdint>

#include "config/wire/mysql/mysql_url.h"
#include "monitors/load_monitor.h"
#include "monitors/memory_probe.h"

namespace weir {

struct MyRocksMonitorSettings {
  MonitorSettings monitor{.sample_interval = std::chrono::milliseconds(250)};
  std::chrono::milliseconds timeout{1000};  // for a whole sample, which includes connecting
};

class MyRocksMonitor final : public LoadMonitor {
 public:
  // Does not connect before Start or SampleOnce.
  MyRocksMonitor(MysqlAddress address, uint64_t target_bytes, const MyRocksMonitorSettings& settings = {},
                 const Clock& clock = Clock::System(), const MemoryFiles& files = {});
};

}  // namespace weir
