// A server behind a wire under the storm: it holds keys and values in one table, or as nodes of one label.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "config/status.h"
#include "monitors/load_monitor.h"
#include "monitors/neo4j/neo4j_monitor.h"
#include "monitors/postgres/postgres_monitor.h"

namespace weir {

// One connection, for one thread at a time.
class WireClient {
 public:
  virtual ~WireClient() = default;
  // Writes all of them in one transaction, over the values that are there.
  virtual Status Write(std::span<const uint64_t> keys, const std::string& value) = 0;
  virtual Status Read(uint64_t key) = 0;
};

class WireEngine {
 public:
  virtual ~WireEngine() = default;
  // Makes the table anew with these keys, each with a value of the size, and lets the server come to rest.
  virtual Status Prepare(uint64_t keys, size_t value_bytes) = 0;
  virtual std::unique_ptr<WireClient> Connect() = 0;
  // Makes the monitor of one run. The caller starts it, and stops it before the next is made.
  virtual std::unique_ptr<LoadMonitor> MakeMonitor() = 0;
};

// `url` is as WEIR_STORE has it.
std::unique_ptr<WireEngine> MakePostgresEngine(const std::string& url, const PostgresMonitorSettings& settings);
Result<std::unique_ptr<WireEngine>> MakeNeo4jEngine(const std::string& url, const Neo4jMonitorSettings& settings);

}  // namespace weir
