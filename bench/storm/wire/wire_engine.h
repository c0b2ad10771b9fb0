// WireEngine: a database server, reached over a network connection, for the storm experiment. It stores keys and values
// in one table (PostgreSQL, MyRocks) or as nodes with one label (Neo4j).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "config/status.h"
#include "monitors/load_monitor.h"
#include "monitors/neo4j/neo4j_monitor.h"
#include "monitors/postgres/postgres_monitor.h"

namespace weir {

// A connection to the server. Only one thread at a time may use it.
class WireClient {
 public:
  virtual ~WireClient() = default;
  // Sets all these keys to the value, in one transaction.
  virtual Status Write(std::span<const uint64_t> keys, const std::string& value) = 0;
  virtual Status Read(uint64_t key) = 0;
};

class WireEngine {
 public:
  virtual ~WireEngine() = default;
  // Makes the table anew with the keys from 0 to `keys` - 1, each with a value of `value_bytes` bytes, and waits until
  // PostgreSQL has made a checkpoint, Neo4j its index, or MyRocks has compacted level 0.
  virtual Status Prepare(uint64_t keys, size_t value_bytes) = 0;
  virtual std::unique_ptr<WireClient> Connect() = 0;
  // Makes the monitor of one run. The caller starts it, and must stop it before it makes the monitor of the next run.
  virtual std::unique_ptr<LoadMonitor> MakeMonitor() = 0;
  // Returns the processor time that the server has used, in seconds; NaN if it is not known.
  virtual double CpuSeconds() { return std::numeric_limits<double>::quiet_NaN(); }
};

// These make the engine at `url`: postgres://USER@HOST/DATABASE, mysql://USER@HOST/DATABASE for MyRocks, or
// http://USER:PASSWORD@HOST:PORT/DATABASE for Neo4j.
std::unique_ptr<WireEngine> MakePostgresEngine(const std::string& url, const PostgresMonitorSettings& settings);
Result<std::unique_ptr<WireEngine>> MakeMyRocksEngine(const std::string& url);
Result<std::unique_ptr<WireEngine>> MakeNeo4jEngine(const std::string& url, const Neo4jMonitorSettings& settings);

}  // namespace weir
